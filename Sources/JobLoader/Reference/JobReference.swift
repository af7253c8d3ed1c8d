/// The reference of the job language for people, generated from the table of keys.
package enum JobReference {
    /// Returns the whole reference as Markdown; `isLinked` adds a table of contents and an index of keys.
    package static func markdown(isLinked: Bool = true) -> String {
        var page = ReferenceText.opening
        if isLinked { page += ReferenceLinks.contents() }
        page += ReferenceText.language
        for section in Catalog.sections { page += self.section(section) }
        page += ReferenceText.closing
        if isLinked { page += ReferenceLinks.index() }
        return page
    }

    static func section(_ section: SectionDocument) -> String {
        var text = "\n## \(section.title)\n\n"
        if !section.introduction.isEmpty { text += section.introduction + "\n\n" }
        if let example = ReferenceText.examples[section.name] { text += "```yaml\n\(example)\n```\n\n" }
        if section.name == "defaults" { return text }
        for rule in section.rules.compactMap({ words($0) }) { text += rule + "\n\n" }
        let hasTypes = section.keys.contains { $0.types != .all }
        text +=
            hasTypes
            ? "| key | for | value | default | meaning |\n| --- | --- | --- | --- | --- |\n"
            : "| key | value | default | meaning |\n| --- | --- | --- | --- |\n"
        for key in section.keys { text += row(key, hasTypes: hasTypes) }
        return text
    }

    private static func words(_ rule: SectionDocument.Rule) -> String? {
        switch rule {
        case .when, .always: nil
        case .exactlyOne(let names): "Exactly one of \(Shape.oneOf(names)) is there."
        case .atMostOne(let names): "At most one of \(Shape.oneOf(names)) is there."
        }
    }

    private static func row(_ key: KeyDocument, hasTypes: Bool) -> String {
        var meaning = key.meaning
        switch key.state {
        case .built: break
        case .partly(let words): meaning += ". *Built so far: \(words).*"
        case .later: meaning += ". *Not built yet.*"
        }
        let types = hasTypes ? " \(key.types.words) |" : ""
        let cells =
            "| `\(key.name)` |\(types) \(escaped(key.shape.words)) | \(escaped(key.standard)) | \(escaped(meaning)) |"
        return cells + "\n"
    }

    private static func escaped(_ text: String) -> String {
        text.split(separator: "|", omittingEmptySubsequences: false).joined(separator: "\\|")
    }
}

/// The tables about the file of `--policy` in docs/policy.md.
package enum PolicyReference {
    /// Returns the tables as Markdown.
    package static func tables() -> String {
        [
            Sections.policy.document, Sections.policyHosts.document, Sections.policyAddresses.document,
            Sections.policyTLS.document, Sections.policyLimits.document,
        ].map { JobReference.section($0) }.joined()
    }
}

/// The tables about networks.yaml in docs/networks.md.
package enum NetworkMapReference {
    /// Returns the tables as Markdown.
    package static func tables() -> String {
        [Sections.networkMap.document, Sections.networkEntry.document].map { JobReference.section($0) }.joined()
    }
}
