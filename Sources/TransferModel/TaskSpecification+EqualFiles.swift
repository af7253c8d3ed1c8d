extension Checksum {
    /// Whether it proves that two files are the same: not one for which different files can be made.
    package var provesBytes: Bool {
        switch algorithm {
        case .sha256, .sha512, .blake2b: true
        case .sha1, .md5: false
        }
    }
}

extension TaskSpecification {
    /// Whether the bytes are all that the download wants, so that the file of another task will do: nothing of it depends
    /// on what a server answers.
    package var mayCopyEqualFile: Bool {
        let values = options.values
        return type == .download && !toStandardOutput && values.object == nil && destination?.hasSuffix("/") == false
            && effectiveMethod == "GET" && values.body == nil && !values.needsAnswer && !values.leavesRows
            && values.onResponse.isEmpty && values.decompress == .no && values.expect.asksNothing
            && values.policies.cachePolicy != .returnCacheDataDontLoad
    }
}

extension Expectations {
    /// Whether they ask for nothing but success: any successful status, type, length, headers and body will do.
    package var asksNothing: Bool {
        status == .success && mimeType == nil && size == nil && minimumSize == nil && magic == nil && !notHTML
            && headers.isEmpty && bodyContains == nil && bodyMatches == nil && bodyJSON.isEmpty
    }
}
