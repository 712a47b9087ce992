#pragma once

namespace dooly::workload {

/// Natural logarithm, exponential and gamma function made of +, -, *, / and comparisons alone, so that every x86-64
/// machine and every C library gives the same bits. Within 2 ulp of the true value (gamma: 1e-12 relative).

/// x: positive, finite and normal.
double exact_log(double x);

/// Results under the smallest normal number are 0; x above 709: infinity.
double exact_exp(double x);

/// The gamma function. x: from 1 to 170.
double exact_gamma(double x);

}  // namespace dooly::workload
