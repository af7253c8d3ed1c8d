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
                try cursor.read(&id)
                hasID = true
            case "session": try cursor.read(&session)
            case "jobFile": try cursor.read(&jobFile)
            case "line": try cursor.read(&line)
            case "type": try cursor.read(&type)
            case "group": try cursor.read(&group)
            case "description": try cursor.read(&description)
            case "becameDownload": try cursor.read(&becameDownload)
            case "outcome": try cursor.read(&outcome)
            case "tolerated": try cursor.read(&tolerated)
            case "changed": try cursor.read(&changed)
            case "source": try cursor.read(&source)
            case "cache": try cursor.read(&cache)
            case "request": try decodeRequests(&cursor)
            case "response":
                response = try cursor.optional { (cursor) throws(CursorStop) in
                    try Response(&cursor, headers: parts.contains(.headers))
                }
            case "file": try cursor.read(&file)
            case "pages":
                try cursor.array { (cursor) throws(CursorStop) in
                    if case let file?? = try cursor.member("file") as File?? { pageFiles.append(file) }
                }
            case "length": try cursor.read(&length)
            case "createdAt": try cursor.read(&createdAt)
            case "startedAt": try cursor.read(&startedAt)
            case "finishedAt": try cursor.read(&finishedAt)
            case "duration": try cursor.read(&duration)
            case "error": try cursor.read(&error)
            case "explanation": try cursor.read(&explanation)
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
        case "body" where asked.contains(.bodies): try cursor.read(&body)
        case "parts" where asked.contains(.bodies): try cursor.read(&parts)
        case "waits" where asked.contains(.waits): try cursor.read(&waits)
        case "attempts" where asked.contains(.attempts):
            attempts = try cursor.list { (cursor) throws(CursorStop) in
                try ReportedAttempt(&cursor, transactions: asked.contains(.transactions))
            }
        case "redirects" where asked.contains(.detours): try cursor.read(&redirects)
        case "challenges" where asked.contains(.detours): try cursor.read(&challenges)
        default: try cursor.skip()
        }
    }

    private mutating func decodeRequests(_ cursor: inout JSONCursor) throws(CursorStop) {
        try cursor.object { (name, cursor) throws(CursorStop) in
            switch name {
            case "original": try cursor.read(&original)
            case "current": try cursor.read(&current)
            default: try cursor.skip()
            }
        }
    }
}

extension ReportedTask.Request: ReportRecord {
    mutating func decode(_ name: JSONCursor.Name, _ cursor: inout JSONCursor) throws(CursorStop) {
        switch name {
        case "method": try cursor.read(&method)
        case "url": try cursor.read(&url)
        default: try cursor.skip()
        }
    }
}

extension ReportedTask.Header: ReportValue {
    /// From `["name", "value"]`.
    init(_ cursor: inout JSONCursor) throws(CursorStop) {
        _ = try cursor.peek()
        let start = cursor.offset
        let texts = try [String](&cursor)
        guard texts.count == 2 else { throw .broken("a header is a name and a value", at: start) }
        (name, value) = (texts[0], texts[1])
    }
}

extension ReportedTask.Response: ReportRecord {
    init(_ cursor: inout JSONCursor, headers wantsHeaders: Bool) throws(CursorStop) {
        self.init()
        try cursor.object { (name, cursor) throws(CursorStop) in
            switch name {
            case "headers" where wantsHeaders: try cursor.read(&headers)
            default: try decode(name, &cursor)
            }
        }
    }

    mutating func decode(_ name: JSONCursor.Name, _ cursor: inout JSONCursor) throws(CursorStop) {
        switch name {
        case "status": try cursor.read(&status)
        case "url": try cursor.read(&url)
        case "mimeType": try cursor.read(&mimeType)
        case "charset": try cursor.read(&charset)
        case "expectedLength": try cursor.read(&expectedLength)
        case "suggestedFilename": try cursor.read(&suggestedFilename)
        case "contentEncoding": try cursor.read(&contentEncoding)
        default: try cursor.skip()
        }
    }
}

extension ReportedTask.File: ReportRecord {
    mutating func decode(_ name: JSONCursor.Name, _ cursor: inout JSONCursor) throws(CursorStop) {
        switch name {
        case "path": try cursor.read(&path)
        case "bytes": try cursor.read(&bytes)
        case "checksum": try cursor.read(&checksum)
        default: try cursor.skip()
        }
    }
}

extension ReportedTask.Cache: ReportRecord {
    mutating func decode(_ name: JSONCursor.Name, _ cursor: inout JSONCursor) throws(CursorStop) {
        switch name {
        case "stored": try cursor.read(&stored)
        case "reason": try cursor.read(&reason)
        default: try cursor.skip()
        }
    }
}

extension ReportedTask.Body: ReportRecord {
    mutating func decode(_ name: JSONCursor.Name, _ cursor: inout JSONCursor) throws(CursorStop) {
        switch name {
        case "text": try cursor.read(&text)
        case "base64":
            try cursor.read(&text)
            isBase64 = true
        case "truncated": try cursor.read(&isTruncated)
        default: try cursor.skip()
        }
    }
}

extension ReportedTask.Part: ReportValue {
    init(_ cursor: inout JSONCursor) throws(CursorStop) {
        self.init()
        var body = ReportedTask.Body()
        var hasBody = false
        try cursor.object { (name, cursor) throws(CursorStop) in
            switch name {
            case "headers": try cursor.read(&headers)
            case "bytes": try cursor.read(&bytes)
            case "text":
                body.text = try cursor.string()
                hasBody = true
            case "base64":
                body.text = try cursor.string()
                (body.isBase64, hasBody) = (true, true)
            case "truncated": body.isTruncated = try cursor.bool()
            case "file": try cursor.read(&file)
            default: try cursor.skip()
            }
        }
        if hasBody { self.body = body }
    }
}

extension TaskRecord.Wait: ReportRecord {
    init() { self.init(reason: .dependency, duration: .zero) }

    mutating func decode(_ name: JSONCursor.Name, _ cursor: inout JSONCursor) throws(CursorStop) {
        switch name {
        case "reason": try cursor.read(&reason)
        case "duration": try cursor.read(&duration)
        default: try cursor.skip()
        }
    }
}

extension ReportedTask.Redirect: ReportRecord {
    mutating func decode(_ name: JSONCursor.Name, _ cursor: inout JSONCursor) throws(CursorStop) {
        switch name {
        case "status": try cursor.read(&status)
        case "from": try cursor.read(&from)
        case "to": try cursor.read(&to)
        case "method": try cursor.read(&method)
        case "action": try cursor.read(&action)
        case "stripped": try cursor.read(&stripped)
        default: try cursor.skip()
        }
    }
}

extension ReportedTask.Challenge: ReportRecord {
    mutating func decode(_ name: JSONCursor.Name, _ cursor: inout JSONCursor) throws(CursorStop) {
        switch name {
        case "method": try cursor.read(&method)
        case "host": try cursor.read(&host)
        case "realm": try cursor.read(&realm)
        case "level": try cursor.read(&level)
        case "disposition": try cursor.read(&disposition)
        case "previousFailureCount": try cursor.read(&previousFailureCount)
        default: try cursor.skip()
        }
    }
}
