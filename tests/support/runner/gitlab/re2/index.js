// The interface of RE2 is that of RegExp, and the tests' patterns are harmless.
module.exports = RegExp;
