package import TransferModel

/// Masks cookies in an answer's headers for people to read: a cookie's value gives access to a session, its name and
/// its attributes do not.
package enum CookieMask {
    /// Returns the headers with `***` for the values of cookies.
    package static func masked(_ headers: HeaderBlock) -> HeaderBlock {
        guard headers.lines.contains(where: { isCookie($0, headers) }) else { return headers }
        return HeaderBlock(
            headers.lines.map { line in
                let value = headers.value(line)
                return (headers.name(line), isCookie(line, headers) ? CredentialNames.maskedCookie(value) : value)
            })
    }

    private static func isCookie(_ line: HeaderBlock.Line, _ headers: HeaderBlock) -> Bool {
        headers.isNamed(line, "set-cookie") || headers.isNamed(line, "set-cookie2")
    }
}
