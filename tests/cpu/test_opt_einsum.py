"""opt_einsum's own tests, as they ship with it, with this package as the backend that multiplies.

What is called here are its test functions; those of its paths, of its parser and of other backends have
nothing to do with who multiplies, and all equations in one way are in ``test_einsum``. Every eighth equation
is enough for what else is done with them.
"""

from __future__ import annotations

import functools

import opt_einsum
import pytest
from opt_einsum.tests import test_blas, test_contract, test_edge_cases, test_input, test_sharing

pytestmark = pytest.mark.cpu

SOME = test_contract.tests[::8]
BACKEND = "tilewright"


class Expression:
    """An expression of opt_einsum whose calls go to this package."""

    def __init__(self, *given, **options):
        self.made = opt_einsum.contract_expression(*given, **options)

    def __call__(self, *arrays, **options):
        return self.made(*arrays, **{"backend": BACKEND, **options})

    def __repr__(self):
        return repr(self.made)

    def __str__(self):
        return str(self.made)

    def __getattr__(self, name):
        return getattr(self.made, name)


@pytest.fixture(autouse=True)
def ours(monkeypatch):
    contract = functools.partial(opt_einsum.contract, backend=BACKEND)
    for suite in (test_blas, test_contract, test_edge_cases, test_input):
        monkeypatch.setattr(suite, "contract", contract)
        monkeypatch.setattr(suite, "contract_expression", Expression, raising=False)
    monkeypatch.setitem(test_sharing.to_backend, BACKEND, lambda x: x)


@pytest.mark.parametrize("equation", SOME)
def test_equations(equation):
    test_contract.test_drop_in_replacement(equation)
    for optimize in ("auto", "greedy"):
        test_contract.test_compare(optimize, equation)
        test_contract.test_compare_blas(optimize, equation)
    test_contract.test_compare_blas_greek("auto", equation)
    for use_blas in (False, True):
        for out in (False, True):
            test_contract.test_contract_expressions(equation, "auto", use_blas, out)


def test_expressions():
    for optimize in (True, False, None):
        test_contract.test_contract_plain_types(optimize)
    test_contract.test_some_non_alphabet_maintains_order()
    test_contract.test_contract_expression_interleaved_input()
    for equation, constants in (("ijab,acd,bce,df,ef->ji", [1, 2, 3, 4]), ("ab,cd,ad,cb", [1, 3])):
        test_contract.test_contract_expression_with_constants(equation, constants)
    for regular, out, everywhere in ((2, 0, False), (3, 2, True)):
        test_contract.test_rand_equation("greedy", 4, regular, out, everywhere)


def test_edges():
    test_edge_cases.test_contract_expression_checks()
    test_edge_cases.test_broadcasting_contraction()
    test_edge_cases.test_broadcasting_contraction2()
    test_edge_cases.test_broadcasting_contraction3()
    test_edge_cases.test_broadcasting_contraction4()
    test_edge_cases.test_can_blas_on_healed_broadcast_dimensions()
    test_edge_cases.test_pathinfo_for_empty_contraction()
    test_blas.test_blas_out()


def test_inputs():
    test_input.test_value_errors(test_input.contract)
    test_input.test_ellipse_input1()
    test_input.test_ellipse_input2()
    test_input.test_ellipse_input3()
    test_input.test_ellipse_input4()
    test_input.test_singleton_dimension_broadcast()
    test_input.test_large_int_input_format()
    test_input.test_hashable_object_input_format()


@pytest.mark.parametrize("equation", ["abc,cd->dba", "abc,cd,de->eba", "ab,bc,ca->"])
def test_tensors(equation):
    torch = pytest.importorskip("torch")
    extents = dict(zip("abcde", (3, 4, 5, 6, 2), strict=True))
    terms = equation.split("->")[0].split(",")
    operands = [torch.rand([extents[label] for label in term]) for term in terms]
    found = opt_einsum.contract(equation, *operands, backend=BACKEND)
    torch.testing.assert_close(found, torch.einsum(equation, *operands))


def test_sharing_of_products():
    test_sharing.test_sharing_value("ab,bc,cd->", BACKEND)
    test_sharing.test_complete_sharing(BACKEND)
    test_sharing.test_sharing_reused_cache(BACKEND)
    test_sharing.test_no_sharing_separate_cache(BACKEND)
    test_sharing.test_sharing_nesting(BACKEND)
    test_sharing.test_sharing_modulo_commutativity("ab,bc->a", BACKEND)
    test_sharing.test_partial_sharing(BACKEND)
    test_sharing.test_sharing_with_constants(BACKEND)
    test_sharing.test_chain(3, BACKEND)
    test_sharing.test_chain_2_growth(BACKEND)
    test_sharing.test_chain_sharing(3, BACKEND)
