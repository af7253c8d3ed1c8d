/// What others wrote (a server, a command) as a message quotes it: its beginning only, where it is long.
///
/// A secret that is cut in two is not found any more, and nothing that judges an answer knows all secrets of the run. So
/// a long text stands whole between two marks, and ``told(_:hiding:)`` cuts it where the secrets are taken out, after that.
package enum ForeignText {
    /// So many characters are told of a name or a value, and of what a server says.
    private static let longest = 80
    private static let longestSaid = 200
    /// Nobody's secret is longer: of more than this no more is searched.
    private static let mostSearched = 2 * CapturedValue.longest
    /// Unicode has no such characters. What is beside them may be taken for a part of a secret, and is there for that.
    private static let opening = mark(0xFDD0) + "\u{1}"
    private static let closing = "\u{1}" + mark(0xFDD1)

    /// What a server says, in quotation marks: more of it than of a value.
    package static func said(_ text: String) -> String {
        let scalars = String(decoding: text.utf8.prefix(mostSearched), as: UTF8.self).unicodeScalars
        let clean = String(String.UnicodeScalarView(scalars.filter { !isMark($0) }))
        return "\"\(mark(0xFDD2))\u{1}\(clean)\(closing)\""
    }

    package static func quoted(_ text: some StringProtocol) -> String {
        let scalars = String(decoding: text.utf8.prefix(mostSearched), as: UTF8.self).unicodeScalars
        let clean = String(String.UnicodeScalarView(scalars.filter { !isMark($0) }))
        return scalars.count <= longest ? "`\(clean)`" : "`\(opening)\(clean)\(closing)`"
    }

    /// The message with all that it quotes cut, once `hiding` has taken out of it what must not be told.
    package static func told(_ message: String, hiding: (String) -> String) -> String {
        guard message.unicodeScalars.contains(where: isMark) else { return message }
        var told = String.UnicodeScalarView()
        var quote: String.UnicodeScalarView?
        var most = longest
        for scalar in hiding(message).unicodeScalars {
            switch scalar.value {
            case 0xFDD0, 0xFDD2:
                quote = String.UnicodeScalarView()
                most = scalar.value == 0xFDD0 ? longest : longestSaid
            case 0xFDD1:
                told += shortened(quote ?? "".unicodeScalars, to: most).unicodeScalars
                quote = nil
            default:
                if quote == nil { told.append(scalar) } else { quote?.append(scalar) }
            }
        }
        if let quote { told += shortened(quote, to: most).unicodeScalars }
        return String(told)
    }

    /// What has no secrets any more.
    package static func shortened(_ text: String) -> String { shortened(text.unicodeScalars, to: longest) }

    private static func shortened(_ scalars: String.UnicodeScalarView, to longest: Int) -> String {
        var scalars = scalars[...]
        if scalars.first?.value == 1 { scalars.removeFirst() }
        if scalars.last?.value == 1 { scalars.removeLast() }
        if scalars.count <= longest { return String(scalars) }
        return String(String.UnicodeScalarView(scalars.prefix(longest - 3))) + "..."
    }

    private static func mark(_ number: UInt16) -> String { Unicode.Scalar(number).map { String($0) } ?? "" }

    private static func isMark(_ scalar: Unicode.Scalar) -> Bool { (0xFDD0...0xFDD2).contains(scalar.value) }
}
