internal import TransferModel

extension ReportedTask {
    /// Decodes one element of `tasks`.
    init(_ cursor: inout JSONCursor, _ parts: ReportParts) throws(CursorStop) {
        self.init()
        var hasID = false
        _ = try cursor.peek()
        let start = cursor.offset
        try cursor.object { (name, cursor) throws(CursorStop) in
            switch name {
            case "id":
                id = try cursor.string()
                hasID = true
            case "session": session = try cursor.optionalString()
            case "jobFile": jobFile = try cursor.string()
            case "line": line = try cursor.optional { (cursor) throws(CursorStop) in try cursor.count() }
            case "type": type = try cursor.choice(TaskType.self)
            case "group": group = try cursor.optionalString()
            case "description": description = try cursor.optionalString()
            case "becameDownload": becameDownload = try cursor.bool()
            case "outcome": outcome = try cursor.choice(TaskOutcome.self)
            case "tolerated": tolerated = try cursor.bool()
            case "changed": changed = try cursor.optional { (cursor) throws(CursorStop) in try cursor.bool() }
            case "source":
                source = try cursor.optional { (cursor) throws(CursorStop) in try cursor.choice(ResultSource.self) }
            case "cache": cache = try cursor.optional { (cursor) throws(CursorStop) in try Cache(&cursor) }
            case "request": try decodeRequests(&cursor)
            case "response":
                response = try cursor.optional { (cursor) throws(CursorStop) in
                    try Response(&cursor, headers: parts.contains(.headers))
                }
            case "file": file = try cursor.optional { (cursor) throws(CursorStop) in try File(&cursor) }
            case "pages":
                try cursor.array { (cursor) throws(CursorStop) in
                    if let file = try Self.pageFile(&cursor) { pageFiles.append(file) }
                }
            case "length": length = try cursor.optionalString()
            case "createdAt": createdAt = try cursor.optionalDate()
            case "startedAt": startedAt = try cursor.optionalDate()
            case "finishedAt": finishedAt = try cursor.optionalDate()
            case "duration": duration = try cursor.optional { (cursor) throws(CursorStop) in try cursor.span() }
            case "error": error = try ReportedError.optional(&cursor)
            case "explanation": explanation = try cursor.optionalString()
            default: try decodeLong(name, &cursor, parts)
            }
        }
        guard hasID else { throw .broken("a task has no `id`", at: start) }
    }

    /// Decodes a member that belongs to one of the `ReportParts`, or skips it if that part is not in `asked`.
    private mutating func decodeLong(
        _ name: JSONCursor.Name, _ cursor: inout JSONCursor, _ asked: ReportParts
    ) throws(CursorStop) {
        switch name {
        case "labels" where asked.contains(.values): labels = try NamedValue.list(&cursor)
        case "captures" where asked.contains(.values): captures = try NamedValue.list(&cursor)
        case "body" where asked.contains(.bodies):
            body = try cursor.optional { (cursor) throws(CursorStop) in try Body(&cursor) }
        case "parts" where asked.contains(.bodies):
            parts = try cursor.list { (cursor) throws(CursorStop) in try Part(&cursor) }
        case "waits" where asked.contains(.waits):
            waits = try cursor.list { (cursor) throws(CursorStop) in try Wait(&cursor) }
        case "attempts" where asked.contains(.attempts):
            attempts = try cursor.list { (cursor) throws(CursorStop) in
                try ReportedAttempt(&cursor, transactions: asked.contains(.transactions))
            }
        case "redirects" where asked.contains(.detours):
            redirects = try cursor.list { (cursor) throws(CursorStop) in try Redirect(&cursor) }
        case "challenges" where asked.contains(.detours):
            challenges = try cursor.list { (cursor) throws(CursorStop) in try Challenge(&cursor) }
        default: try cursor.skip()
        }
    }

    /// Decodes the file of one element of `pages`; `nil` for a page without one.
    private static func pageFile(_ cursor: inout JSONCursor) throws(CursorStop) -> File? {
        var file: File?
        try cursor.object { (name, cursor) throws(CursorStop) in
            switch name {
            case "file": file = try cursor.optional { (cursor) throws(CursorStop) in try File(&cursor) }
            default: try cursor.skip()
            }
        }
        return file
    }

    private mutating func decodeRequests(_ cursor: inout JSONCursor) throws(CursorStop) {
        try cursor.object { (name, cursor) throws(CursorStop) in
            switch name {
            case "original": original = try Request(&cursor)
            case "current": current = try Request(&cursor)
            default: try cursor.skip()
            }
        }
    }
}

extension ReportedTask.Request {
    init(_ cursor: inout JSONCursor) throws(CursorStop) {
        self.init()
        try cursor.object { (name, cursor) throws(CursorStop) in
            switch name {
            case "method": method = try cursor.string()
            case "url": url = try cursor.string()
            default: try cursor.skip()
            }
        }
    }
}

extension ReportedTask.Header {
    /// From `["name", "value"]`.
    init(_ cursor: inout JSONCursor) throws(CursorStop) {
        var texts: [String] = []
        _ = try cursor.peek()
        let start = cursor.offset
        try cursor.array { (cursor) throws(CursorStop) in texts.append(try cursor.string()) }
        guard texts.count == 2 else { throw .broken("a header is a name and a value", at: start) }
        (name, value) = (texts[0], texts[1])
    }
}

extension ReportedTask.Response {
    init(_ cursor: inout JSONCursor, headers wantsHeaders: Bool) throws(CursorStop) {
        self.init()
        try cursor.object { (name, cursor) throws(CursorStop) in
            switch name {
            case "status": status = try cursor.optional { (cursor) throws(CursorStop) in try cursor.count() }
            case "url": url = try cursor.string()
            case "mimeType": mimeType = try cursor.optionalString()
            case "charset": charset = try cursor.optionalString()
            case "expectedLength":
                expectedLength = try cursor.optional { (cursor) throws(CursorStop) in try cursor.integer() }
            case "suggestedFilename": suggestedFilename = try cursor.optionalString()
            case "contentEncoding": contentEncoding = try cursor.optionalString()
            case "headers" where wantsHeaders:
                headers = try cursor.list { (cursor) throws(CursorStop) in try ReportedTask.Header(&cursor) }
            default: try cursor.skip()
            }
        }
    }
}

extension ReportedTask.File {
    init(_ cursor: inout JSONCursor) throws(CursorStop) {
        self.init()
        try cursor.object { (name, cursor) throws(CursorStop) in
            switch name {
            case "path": path = try cursor.string()
            case "bytes": bytes = try cursor.integer()
            case "checksum": checksum = try cursor.optionalString()
            default: try cursor.skip()
            }
        }
    }
}

extension ReportedTask.Cache {
    init(_ cursor: inout JSONCursor) throws(CursorStop) {
        self.init()
        try cursor.object { (name, cursor) throws(CursorStop) in
            switch name {
            case "stored": stored = try cursor.bool()
            case "reason": reason = try cursor.optionalString()
            default: try cursor.skip()
            }
        }
    }
}

extension ReportedTask.Body {
    init(_ cursor: inout JSONCursor) throws(CursorStop) {
        self.init()
        try cursor.object { (name, cursor) throws(CursorStop) in
            switch name {
            case "text": text = try cursor.string()
            case "base64":
                text = try cursor.string()
                isBase64 = true
            case "truncated": isTruncated = try cursor.bool()
            default: try cursor.skip()
            }
        }
    }
}

extension ReportedTask.Part {
    init(_ cursor: inout JSONCursor) throws(CursorStop) {
        self.init()
        var body = ReportedTask.Body()
        var hasBody = false
        try cursor.object { (name, cursor) throws(CursorStop) in
            switch name {
            case "headers":
                headers = try cursor.list { (cursor) throws(CursorStop) in try ReportedTask.Header(&cursor) }
            case "bytes": bytes = try cursor.integer()
            case "text":
                body.text = try cursor.string()
                hasBody = true
            case "base64":
                body.text = try cursor.string()
                (body.isBase64, hasBody) = (true, true)
            case "truncated": body.isTruncated = try cursor.bool()
            case "file": file = try cursor.optionalString()
            default: try cursor.skip()
            }
        }
        if hasBody { self.body = body }
    }
}

extension ReportedTask.Wait {
    init(_ cursor: inout JSONCursor) throws(CursorStop) {
        self.init(.dependency, .zero)
        try cursor.object { (name, cursor) throws(CursorStop) in
            switch name {
            case "reason": reason = try cursor.choice(WaitReason.self)
            case "duration": duration = try cursor.span()
            default: try cursor.skip()
            }
        }
    }
}

extension ReportedTask.Redirect {
    init(_ cursor: inout JSONCursor) throws(CursorStop) {
        self.init()
        try cursor.object { (name, cursor) throws(CursorStop) in
            switch name {
            case "status": status = try cursor.count()
            case "from": from = try cursor.string()
            case "to": to = try cursor.string()
            case "method": method = try cursor.string()
            case "action": action = try cursor.string()
            case "stripped": stripped = try cursor.list { (cursor) throws(CursorStop) in try cursor.string() }
            default: try cursor.skip()
            }
        }
    }
}

extension ReportedTask.Challenge {
    init(_ cursor: inout JSONCursor) throws(CursorStop) {
        self.init()
        try cursor.object { (name, cursor) throws(CursorStop) in
            switch name {
            case "method": method = try cursor.string()
            case "host": host = try cursor.string()
            case "realm": realm = try cursor.optionalString()
            case "level": level = try cursor.string()
            case "disposition": disposition = try cursor.string()
            case "previousFailureCount": previousFailureCount = try cursor.count()
            default: try cursor.skip()
            }
        }
    }
}
