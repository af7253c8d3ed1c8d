internal import CLibPSL

/// The names under which anyone can register a name: `com`, `co.uk`, `github.io` (publicsuffix.org, as built into
/// libpsl). A name directly under the root that the list does not know counts as one.
///
/// Names are in lower case and ASCII, as ``ResourceURL`` has them, and no addresses.
package enum PublicSuffixes {
    /// Whether a name is a public suffix.
    package static func contains(_ name: String) -> Bool { transfer_run_psl_is_public_suffix(name) != 0 }

    /// Returns the registrable part of a name: `example.co.uk` of `www.example.co.uk`; `nil` for a public suffix.
    package static func registrableDomain(of name: String) -> String? {
        let offset = transfer_run_psl_registrable_offset(name)
        return offset < 0 ? nil : String(decoding: name.utf8.dropFirst(offset), as: UTF8.self)
    }
}
