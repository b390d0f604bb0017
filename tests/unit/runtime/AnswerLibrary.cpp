//===- AnswerLibrary.cpp - A library for tests, built several times -------===//
extern "C" int shardc_test_answer() { return SHARDC_TEST_ANSWER; }
