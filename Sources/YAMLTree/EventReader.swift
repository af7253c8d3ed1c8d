import CLibYAML
import Diagnostics

/// Pulls libyaml's events out of a text and hands them to the ``TreeBuilder``. The only file that sees libyaml.
enum EventReader {
    static func read(
        _ source: SourceText, limits: YAMLTree.Limits, into diagnostics: inout DiagnosticList
    ) -> YAMLTree? {
        var problems = ProblemCollector(source: source)
        guard EncodingCheck.passes(source, limits: limits, problems: &problems) else {
            diagnostics.append(contentsOf: problems.list)
            return nil
        }
        var builder = TreeBuilder(source: source, limits: limits, problems: problems)
        let parses = unsafe source.bytes.withUnsafeBufferPointer { bytes in
            // libyaml keeps the pointer until the parser is deleted, so the whole parse happens in here.
            unsafe run(UnsafeBufferPointer(rebasing: bytes[source.byteOrderMarkLength...]), &builder, source)
        }
        let (tree, found) = builder.finish()
        diagnostics.append(contentsOf: found.list)
        return parses && !found.isFatal ? tree : nil
    }

    private static func run(
        _ bytes: UnsafeBufferPointer<UInt8>, _ builder: inout TreeBuilder, _ source: SourceText
    ) -> Bool {
        // libyaml holds pointers into the parser itself, so it must not move.
        let parser = UnsafeMutablePointer<yaml_parser_t>.allocate(capacity: 1)
        defer { unsafe parser.deallocate() }
        guard unsafe yaml_parser_initialize(parser) == 1 else {
            builder.fail("out-of-memory", "there is not enough memory to read the file", hint: nil, at: nil)
            return false
        }
        defer { unsafe yaml_parser_delete(parser) }
        unsafe yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
        // An empty array has no address, and libyaml requires one.
        var nothing: UInt8 = 0
        return unsafe withUnsafePointer(to: &nothing) { nothing in
            unsafe yaml_parser_set_input_string(parser, bytes.baseAddress ?? nothing, bytes.count)
            return unsafe pump(parser, &builder, source)
        }
    }

    private static func pump(
        _ parser: UnsafeMutablePointer<yaml_parser_t>, _ builder: inout TreeBuilder, _ source: SourceText
    ) -> Bool {
        var event = unsafe yaml_event_t()
        var documents = 0
        while !builder.isOverLimit {
            guard unsafe yaml_parser_parse(parser, &event) == 1 else {
                let problem = unsafe SyntaxProblem(parser.pointee, in: source)
                builder.fail(problem.code, problem.message, hint: problem.hint, at: problem.span)
                return false
            }
            defer { unsafe yaml_event_delete(&event) }
            switch unsafe event.type {
            case YAML_SCALAR_EVENT: unsafe scalar(event, &builder)
            case YAML_MAPPING_START_EVENT, YAML_SEQUENCE_START_EVENT: unsafe begin(event, &builder)
            case YAML_MAPPING_END_EVENT, YAML_SEQUENCE_END_EVENT: unsafe end(event, &builder)
            case YAML_ALIAS_EVENT:
                unsafe builder.alias(text(event.data.alias.anchor) ?? "", span: span(event))
            case YAML_DOCUMENT_START_EVENT:
                documents += 1
                if documents > 1 { return unsafe secondDocument(event, &builder) }
            case YAML_STREAM_END_EVENT: return true
            default: break
            }
        }
        return false
    }

    private static func secondDocument(_ event: yaml_event_t, _ builder: inout TreeBuilder) -> Bool {
        let hint = "keep each document in a file of its own, and run them one by one"
        unsafe builder.fail(
            "several-documents", "a second YAML document begins here, and only one is read", hint: hint,
            at: span(event))
        return false
    }

    // MARK: Events

    @inline(__always)
    private static func scalar(_ event: yaml_event_t, _ builder: inout TreeBuilder) {
        let scalar = unsafe event.data.scalar
        let isPlain = unsafe scalar.tag == nil && scalar.style == YAML_PLAIN_SCALAR_STYLE
        unsafe builder.scalar(
            UnsafeBufferPointer(start: scalar.value, count: scalar.length), span: span(event), isPlain: isPlain,
            anchor: text(scalar.anchor), tag: text(scalar.tag))
    }

    @inline(__always)
    private static func begin(_ event: yaml_event_t, _ builder: inout TreeBuilder) {
        if unsafe event.type == YAML_MAPPING_START_EVENT {
            let start = unsafe event.data.mapping_start
            unsafe builder.begin(
                .mapping, isFlow: start.style == YAML_FLOW_MAPPING_STYLE, span: span(event),
                anchor: text(start.anchor), tag: text(start.tag))
        } else {
            let start = unsafe event.data.sequence_start
            unsafe builder.begin(
                .sequence, isFlow: start.style == YAML_FLOW_SEQUENCE_STYLE, span: span(event),
                anchor: text(start.anchor), tag: text(start.tag))
        }
    }

    @inline(__always)
    private static func end(_ event: yaml_event_t, _ builder: inout TreeBuilder) {
        let mark = unsafe event.end_mark
        builder.endCollection(
            at: (Int32(truncatingIfNeeded: mark.line) + 1, Int32(truncatingIfNeeded: mark.column) + 1))
    }

    @inline(__always)
    private static func text(_ pointer: UnsafeMutablePointer<UInt8>?) -> String? {
        guard let pointer = unsafe pointer else { return nil }
        return unsafe String(cString: pointer)
    }

    /// libyaml counts from 0, in characters. No overflow: a text has at most 64 Mi of them.
    @inline(__always)
    private static func span(_ event: yaml_event_t) -> SourceSpan {
        let (start, end) = unsafe (event.start_mark, event.end_mark)
        return SourceSpan(
            line: Int32(truncatingIfNeeded: start.line) + 1, column: Int32(truncatingIfNeeded: start.column) + 1,
            endLine: Int32(truncatingIfNeeded: end.line) + 1, endColumn: Int32(truncatingIfNeeded: end.column) + 1)
    }
}
