#include "schema_keys.hpp"

namespace dooly::scenario {
namespace {

Object cluster_object() {
  return {
      "cluster",
      "cluster",
      "Machines and the network between them.",
      {
          object("fabric", "fabric", "The network between the nodes.").def("{}"),
          objects("nodes", "node_group", "Groups of equal machines.").required().items(1, 1000),
      },
  };
}

Object fabric_object() {
  return {
      "fabric",
      "cluster.fabric",
      "`star`: one switch that never blocks. `fat_tree`: leaf switches whose up-links may be over-subscribed. It "
      "carries "
      "KV transfers between prefill and decode pools: with pools of role mixed alone it changes nothing.",
      {
          choice("topology", {"star", "fat_tree"}, "Shape of the network.", {"dragonfly", "torus", "rail_optimised"})
              .def("star"),
          object("link", "link", "A port of a switch.").def("{}"),
          number("oversubscription", 1, 1000, "What a leaf's nodes can send ÷ what its up-links carry.")
              .def("1")
              .only("topology", {"fat_tree"}),
          integer("nodes_per_leaf", 1, 1e6, "Consecutive nodes that share a leaf switch.")
              .def("16")
              .only("topology", {"fat_tree"}),
      },
  };
}

Object link_object() {
  return {
      "link",
      "cluster.fabric.link",
      "A NIC is as fast as the slower of itself and its link.",
      {
          bandwidth("bandwidth", "Of one port and direction; default: as the NICs.").unset("default"),
          time("latency", "One way, node to node.").def("2us"),
      },
  };
}

Object node_group_object() {
  return {
      "node_group",
      "cluster.nodes[]",
      "`count` equal machines, called NAME.0, NAME.1, …",
      {
          identifier("name", "Name of the group.").required(),
          integer("count", 1, 1e6, "Machines.").def("1"),
          text("gpu", "Kind of GPU.").required().list_of("gpus"),
          integer("gpus", 1, 1024, "GPUs of a machine.").def("8"),
          bandwidth("nvlink", "Between a machine's GPUs, of one GPU and direction; default: the GPU's own.")
              .unset("default"),
          time("nvlink_latency",
               "Of one message between a machine's GPUs. Given, collectives take it and reach all of `nvlink`; else "
               "both "
               "are estimated.")
              .unset("null"),
          object("nics", "nics", "Network cards of a machine.").def("{}"),
      },
  };
}

Object nics_object() {
  return {
      "nics",
      "cluster.nodes[].nics",
      "A machine sends with all of its NICs together.",
      {
          integer("count", 1, 1024, "Cards.").def_note("one for each GPU"),
          bandwidth("bandwidth", "Of one card and direction.").def("400Gbps"),
      },
  };
}

}  // namespace

std::vector<Object> cluster_objects() {
  return {cluster_object(), fabric_object(), link_object(), node_group_object(), nics_object()};
}

}  // namespace dooly::scenario
