// The same from C++17.
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <gsl/gsl_cdf.h>
#include <iostream>
#include <memory>
#include <moegeom/moegeom.h>
#include <vector>

static bool blas_is_openblas()
{
    Dl_info info;
    void *address = dlsym(RTLD_DEFAULT, "cblas_dgemm");
    if (address == nullptr || dladdr(address, &info) == 0)
        return false;
    const std::unique_ptr<char, decltype(&std::free)> file(realpath(info.dli_fname, nullptr), &std::free);
    std::cout << "cblas_dgemm of " << (file ? file.get() : info.dli_fname) << '\n';
    return file && std::strstr(file.get(), "openblas") != nullptr;
}

int main()
{
    const std::vector<double> W{1.43, -0.57, -0.22, 0.81}, b{0.11, -0.34}, w{1e-9, 1e-3, 1e-1};
    moeg_law *law = nullptr;
    moeg_router *router = nullptr;
    std::vector<moeg_estimate> mass(w.size());
    const moeg_sampling s = moeg_sampling_default();
    if (moeg_law_gaussian_create(&law, 2, nullptr, nullptr) != MOEG_OK ||
        moeg_router_affine_create(&router, 2, 2, W.data(), b.data()) != MOEG_OK ||
        moeg_boundary_mass(router, law, w.size(), w.data(), &s, mass.data()) != MOEG_OK) {
        std::cerr << moeg_last_error() << '\n';
        return 1;
    }
    moeg_router_free(router);
    moeg_law_free(law);

    // a_1 - a_2 is normal of mean b_1 - b_2 and variance |W_1 - W_2|^2.
    const double sigma = std::hypot(W[0] - W[2], W[1] - W[3]), mean = b[0] - b[1];
    const double expected = gsl_cdf_gaussian_P(w[2] - mean, sigma) - gsl_cdf_gaussian_P(-w[2] - mean, sigma);
    std::cout << "BM(" << w[2] << ") = " << mass[2].value << ", GSL " << expected << '\n';
    // The difference of two probabilities of size 1/2 loses a digit.
    return blas_is_openblas() && std::abs(mass[2].value - expected) <= 1e-14 ? 0 : 1;
}
