#include "host_fit.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace dooly::validate {
namespace {

TEST(HostFit, WordsAreParameters) {
  EXPECT_EQ(host_parameters("gaps"), (std::vector<HostParameter>{{"gaps_piecewise", "gaps_none"}}));
  EXPECT_EQ(host_parameters("launch"),
            (std::vector<HostParameter>{{"launch_full"}, {"launch_piecewise", "launch_none"}}));
  EXPECT_EQ(host_parameters("schedule"), (std::vector<HostParameter>{{"schedule"}}));
  EXPECT_THROW(host_parameters("clock"), std::invalid_argument);
}

TEST(HostFit, FindsWhatTheResidualsWereMadeOf) {
  const auto residuals = [](const HostTerms& terms) {
    EXPECT_EQ(terms.at("launch_piecewise"), terms.at("launch_none"));
    const double full = terms.at("launch_full") * 1e3, none = terms.at("launch_none") * 1e3;
    return std::vector<double>{full - 2, none - 5, full + none - 7, std::sqrt(1 + none) - std::sqrt(6)};
  };
  const HostFit fit = fit_host_terms(host_parameters("launch"), residuals);
  EXPECT_NEAR(fit.terms.at("launch_full"), 2e-3, 1e-6);
  EXPECT_NEAR(fit.terms.at("launch_none"), 5e-3, 1e-6);
  EXPECT_GT(fit.error_before, 1);
  EXPECT_LT(fit.error_after, 1e-2);
  EXPECT_LE(fit.runs, 1 + 4 * (2 + 4u));
}

TEST(HostFit, TimesAreNeverNegative) {
  const auto residuals = [](const HostTerms& terms) {
    return std::vector<double>{terms.at("launch_full") * 1e3 + 3, terms.at("launch_none") * 1e3 - 1,
                               terms.at("launch_full") * 1e3 + terms.at("launch_none") * 1e3 - 1};
  };
  const HostFit fit = fit_host_terms(host_parameters("launch"), residuals);
  EXPECT_EQ(fit.terms.at("launch_full"), 0);
  EXPECT_NEAR(fit.terms.at("launch_none"), 1e-3, 1e-7);
}

TEST(HostFit, StaysWhereNothingHelps) {
  const HostFit fit = fit_host_terms(host_parameters("schedule"), [](const HostTerms& terms) {
    return std::vector<double>{1 + terms.at("schedule")};
  });
  EXPECT_EQ(fit.terms.at("schedule"), 0);
  EXPECT_EQ(fit.error_after, fit.error_before);
}

}  // namespace
}  // namespace dooly::validate
