#include "nnls.hpp"

#include <Eigen/Dense>
#include <algorithm>

namespace dooly::oracle {
namespace {

/// Least squares over the columns that are free.
Eigen::VectorXd solve_free(const Eigen::MatrixXd& gram, const Eigen::VectorXd& right, const std::vector<bool>& free) {
  std::vector<Eigen::Index> columns;
  for (std::size_t i = 0; i < free.size(); ++i)
    if (free[i]) columns.push_back(static_cast<Eigen::Index>(i));
  Eigen::VectorXd out = Eigen::VectorXd::Zero(gram.cols());
  if (columns.empty()) return out;
  const Eigen::MatrixXd part = gram(columns, columns);
  const Eigen::VectorXd solved = part.colPivHouseholderQr().solve(right(columns));
  for (std::size_t i = 0; i < columns.size(); ++i) out[columns[i]] = solved[static_cast<Eigen::Index>(i)];
  return out;
}

}  // namespace

std::vector<double> fit_non_negative(std::span<const double> features, std::span<const double> targets) {
  const auto rows = static_cast<Eigen::Index>(targets.size());
  if (rows == 0) return {};
  const Eigen::Index columns = static_cast<Eigen::Index>(features.size()) / rows;
  Eigen::MatrixXd a(rows, columns);
  for (Eigen::Index i = 0; i < rows; ++i)
    for (Eigen::Index j = 0; j < columns; ++j)
      a(i, j) = features[static_cast<std::size_t>(i * columns + j)] / targets[static_cast<std::size_t>(i)];
  Eigen::VectorXd scale(columns);  // columns of equal length: features differ by many orders of magnitude
  for (Eigen::Index j = 0; j < columns; ++j) {
    const double norm = a.col(j).norm();
    scale[j] = norm > 0 ? 1 / norm : 0;
    a.col(j) *= scale[j];
  }
  const Eigen::MatrixXd gram = a.transpose() * a;
  const Eigen::VectorXd right = a.transpose() * Eigen::VectorXd::Ones(rows);
  Eigen::VectorXd x = Eigen::VectorXd::Zero(columns);
  std::vector<bool> free(static_cast<std::size_t>(columns), false);
  for (int round = 0; round < 3 * columns; ++round) {
    const Eigen::VectorXd gradient = right - gram * x;
    Eigen::Index best = -1;
    for (Eigen::Index j = 0; j < columns; ++j)
      if (!free[static_cast<std::size_t>(j)] && scale[j] > 0 && gradient[j] > 1e-9 * static_cast<double>(rows) &&
          (best < 0 || gradient[j] > gradient[best]))
        best = j;
    if (best < 0) break;
    free[static_cast<std::size_t>(best)] = true;
    for (;;) {
      const Eigen::VectorXd wanted = solve_free(gram, right, free);
      double step = 1;
      for (Eigen::Index j = 0; j < columns; ++j)
        if (free[static_cast<std::size_t>(j)] && wanted[j] <= 0) step = std::min(step, x[j] / (x[j] - wanted[j]));
      if (!(step < 1)) {
        x = wanted.cwiseMax(0.0);
        break;
      }
      x += step * (wanted - x);
      bool dropped = false;
      for (Eigen::Index j = 0; j < columns; ++j) {
        if (!free[static_cast<std::size_t>(j)] || x[j] > 1e-14) continue;
        x[j] = 0;
        free[static_cast<std::size_t>(j)] = false;
        dropped = true;
      }
      if (!dropped) break;
    }
  }
  std::vector<double> out;
  for (Eigen::Index j = 0; j < columns; ++j) out.push_back(std::max(0.0, x[j]) * scale[j]);
  return out;
}

}  // namespace dooly::oracle
