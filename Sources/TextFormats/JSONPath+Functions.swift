internal import TransferModel

// The function extensions of RFC 9535, section 2.4.

extension JSONPath {
    indirect enum Function: Equatable, Sendable {
        /// Characters of a string, elements of an array, members of an object.
        case length(Operand)
        /// Number of nodes that a query selects.
        case count(Query)
        /// The value that a query selects, if it selects exactly one.
        case value(Query)
        /// Whether a regular expression (RFC 9485) matches a whole text (`match`) or a part of it (`search`).
        case match(Operand, Operand)
        case search(Operand, Operand)

        /// Whether the function is true or false by itself, rather than a value to compare.
        var isTest: Bool {
            switch self {
            case .match, .search: true
            case .length, .count, .value: false
            }
        }
    }

    /// Returns the value of a function; `nil` if it has none, as `match` and `search`.
    static func result(of function: Function, _ node: JSONValue, _ walk: Walk) -> JSONValue? {
        switch function {
        case .length(let argument):
            switch operand(argument, node, walk) {
            case .string(let text)?, .broken(let text)?: return .number("\(text.unicodeScalars.count)")
            case .array(let elements)?: return .number("\(elements.count)")
            case .object(let members)?: return .number("\(members.count)")
            case .null?, .boolean?, .number?, nil: return nil
            }
        case .count(let query): return .number("\(results(query, node, walk).count)")
        case .value(let query):
            let found = results(query, node, walk)
            return found.count == 1 ? found[0] : nil
        case .match, .search: return nil
        }
    }

    static func holds(_ function: Function, for node: JSONValue, _ walk: Walk) -> Bool {
        switch function {
        case .match(let text, let pattern): matches(text, pattern, isWhole: true, node, walk)
        case .search(let text, let pattern): matches(text, pattern, isWhole: false, node, walk)
        case .length, .count, .value: false
        }
    }

    /// Returns whether the pattern matches; `false` if an operand is no text or the match takes too long.
    private static func matches(
        _ text: Operand, _ pattern: Operand, isWhole: Bool, _ node: JSONValue, _ walk: Walk
    ) -> Bool {
        guard case .string(let text)? = operand(text, node, walk),
            case .string(let pattern)? = operand(pattern, node, walk),
            walk.spend(1 + text.utf8.count / 8), let regex = walk.expression(pattern, isWhole: isWhole)
        else { return false }
        do throws(Regex.Problem) {
            return try regex.firstMatch(in: Array(text.utf8)) != nil
        } catch {
            // An abandoned match costs steps: a document must not take that long at each of its values.
            return walk.spend(100_000) && false
        }
    }
}

extension JSONPath.Walk {
    fileprivate func expression(_ pattern: String, isWhole: Bool) -> Regex? {
        let text = isWhole ? "\\A(?:\(Self.translated(pattern)))\\z" : Self.translated(pattern)
        if let known = expressions[text] { return known }
        // The pattern must compile by itself: a parenthesis in it could close the group around it.
        let regex = (try? Regex(Self.translated(pattern))) == nil ? nil : try? Regex(text)
        // A document may contain as many expressions as it has values.
        if expressions.count < 64 { expressions[text] = .some(regex) }
        return regex
    }

    /// Returns the pattern for PCRE2: a dot outside of a class matches any character but `\n` and `\r`.
    private static func translated(_ pattern: String) -> String {
        var result = ""
        var isEscaped = false
        var isInClass = false
        for scalar in pattern.unicodeScalars {
            if isEscaped {
                isEscaped = false
            } else {
                switch scalar {
                case "\\": isEscaped = true
                case "[": isInClass = true
                case "]": isInClass = false
                case "." where !isInClass:
                    result += "[^\\n\\r]"
                    continue
                default: break
                }
            }
            result.unicodeScalars.append(scalar)
        }
        return result
    }
}
