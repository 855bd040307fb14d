// Text with `{}` fields, as far as host programs print: alignment and precision are ignored.
#pragma once

#include <cstdio>
#include <sstream>
#include <string>
#include <string_view>

namespace fmt {

namespace detail {
inline void append(std::ostringstream& out, std::string_view& rest) {
    out << rest;
    rest = {};
}

template <typename First, typename... Others>
void append(std::ostringstream& out, std::string_view& rest, const First& first, const Others&... others) {
    size_t open = rest.find('{');
    size_t close = rest.find('}', open);
    if (open == std::string_view::npos || close == std::string_view::npos) {
        return append(out, rest);
    }
    out << rest.substr(0, open) << first;
    rest.remove_prefix(close + 1);
    append(out, rest, others...);
}
}  // namespace detail

template <typename... Values>
std::string format(std::string_view pattern, const Values&... values) {
    std::ostringstream out;
    detail::append(out, pattern, values...);
    return out.str();
}

template <typename... Values>
void print(std::FILE* file, std::string_view pattern, const Values&... values) {
    std::fputs(format(pattern, values...).c_str(), file);
}

template <typename... Values>
void print(std::string_view pattern, const Values&... values) {
    print(stdout, pattern, values...);
}

}  // namespace fmt
