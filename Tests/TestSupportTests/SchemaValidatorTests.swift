import TestSupport
import Testing
import TextFormats

@Suite struct SchemaValidatorTests {
    private func problems(_ schema: String, _ document: String) throws -> [String] {
        try SchemaValidator(schema: Array(schema.utf8)).problems(in: Array(document.utf8)).map { "\($0)" }
    }

    /// A schema, then documents that are valid, then ones that are not.
    @Test(arguments: [
        ("true", ["1", "null"], []), ("false", [], ["1"]), ("{}", ["[]"], []),
        (#"{"type": "integer"}"#, ["1", "1.0", "-3", "1e2"], ["1.5", "\"1\"", "null"]),
        (#"{"type": ["number", "null"]}"#, ["1", "1.5", "null"], ["true", "[]"]),
        (#"{"type": "object"}"#, ["{}"], ["[]"]), (#"{"type": "boolean"}"#, ["true"], ["0"]),
        (
            #"{"enum": ["a", 1, {"x": [1], "y": 2}]}"#, ["\"a\"", "1.0", #"{"y": 2, "x": [1.0]}"#],
            ["\"b\"", #"{"x": [1]}"#]
        ),
        (#"{"const": null}"#, ["null"], ["0"]),
        (
            #"{"properties": {"a": {"type": "string"}}, "required": ["a"]}"#, [#"{"a": "x", "b": 1}"#, "3"],
            ["{}", #"{"a": 1}"#]
        ),
        (#"{"properties": {"a": true}, "additionalProperties": false}"#, ["{}", #"{"a": 1}"#], [#"{"b": 1}"#]),
        (#"{"additionalProperties": {"type": "integer"}}"#, [#"{"b": 1}"#], [#"{"b": ""}"#]),
        (
            #"{"patternProperties": {"^x-": {"type": "integer"}}, "additionalProperties": false}"#,
            [#"{"x-a": 1}"#], [#"{"x-a": ""}"#, #"{"a": 1}"#]
        ),
        (
            #"{"properties": {"xa": true}, "patternProperties": {"^x": {"type": "integer"}}}"#, [#"{"xa": 1}"#],
            [#"{"xa": ""}"#]
        ),
        (#"{"propertyNames": {"maxLength": 2}}"#, [#"{"ab": 1}"#], [#"{"abc": 1}"#]),
        (#"{"minProperties": 1, "maxProperties": 2}"#, [#"{"a": 1}"#], ["{}", #"{"a": 1, "b": 1, "c": 1}"#]),
        (#"{"items": {"type": "integer"}}"#, ["[]", "[1, 2]", "\"x\""], ["[1, \"\"]"]),
        (
            #"{"prefixItems": [{"type": "string"}], "items": {"type": "integer"}}"#, ["[]", "[\"\"]", "[\"\", 1]"],
            ["[1]", "[\"\", \"\"]"]
        ),
        (#"{"prefixItems": [true], "items": false}"#, ["[1]"], ["[1, 2]"]),
        (#"{"contains": {"const": 1}}"#, ["[0, 1]"], ["[]", "[0]"]),
        (#"{"minItems": 1, "maxItems": 2, "uniqueItems": true}"#, ["[1]", "[1, 2]"], ["[]", "[1, 2, 3]", "[1, 1.0]"]),
        (#"{"minLength": 2, "maxLength": 3}"#, ["\"äö\"", "\"abc\"", "1"], ["\"a\"", "\"abcd\""]),
        (#"{"pattern": "^[0-9]+$"}"#, ["\"12\"", "12"], ["\"a1\"", "\"\""]),
        (#"{"minimum": 1, "maximum": 2}"#, ["1", "2", "\"\""], ["0.9", "2.1"]),
        (#"{"exclusiveMinimum": 1, "exclusiveMaximum": 2}"#, ["1.5"], ["1", "2"]),
        (#"{"allOf": [{"minimum": 1}, {"maximum": 2}]}"#, ["1"], ["0", "3"]),
        (#"{"anyOf": [{"type": "null"}, {"minimum": 3}]}"#, ["null", "3"], ["2"]),
        (#"{"oneOf": [{"minimum": 1}, {"maximum": 2}]}"#, ["0", "3"], ["1", "2"]),
        (#"{"not": {"type": "null"}}"#, ["1"], ["null"]),
        (
            #"{"if": {"type": "string"}, "then": {"minLength": 1}, "else": {"minimum": 1}}"#, ["\"a\"", "1"],
            ["\"\"", "0"]
        ),
        (
            ##"{"$defs": {"n": {"type": "object", "additionalProperties": {"$ref": "#/$defs/n"}}}, "$ref": "#/$defs/n"}"##,
            ["{}", #"{"a": {"b": {}}}"#], ["1", #"{"a": {"b": 1}}"#]
        ),
        (##"{"items": {"$ref": "#"}, "type": "array"}"##, ["[[], [[]]]"], ["[1]", "[[1]]"]),
        (#"{"title": "t", "description": "d", "default": 1, "format": "date-time"}"#, ["1"], []),
        (#"{"properties": {}}"#, [], [#"{"a": 1, "a": 1}"#]), ("{}", [], ["{", "[1,]", ""]),
    ])
    func judges(schema: String, valid: [String], wrong: [String]) throws {
        for document in valid { #expect(try problems(schema, document).isEmpty, "\(document)") }
        for document in wrong { #expect(try !problems(schema, document).isEmpty, "\(document)") }
    }

    @Test(arguments: [
        #"{"unknown": 1}"#, #"{"properties": {"a": {"mininum": 1}}}"#, ##"{"$ref": "#/$defs/none"}"##,
        #"{"type": "float"}"#,
        #"{"pattern": "("}"#, #"{"$defs": {"unused": {"dependentSchemas": {}}}}"#, "1", #"{"items": 1}"#,
        #"{"minLength": -1}"#,
        #"{"then": true}"#, #"{"required": "a"}"#, #"{"$ref": "https://example.org/schema"}"#,
    ])
    func refusesASchemaThatItDoesNotUnderstand(schema: String) {
        #expect(throws: SchemaProblem.self) { try SchemaValidator(schema: Array(schema.utf8)) }
    }

    @Test func saysWhereAndWhat() throws {
        let schema = #"""
            {"properties": {"tasks": {"items": {"required": ["id"], "properties": {"id": {"type": "string"}}}},
             "error": {"anyOf": [{"type": "null"}, {"type": "object", "required": ["name"]}]}}}
            """#
        #expect(
            try problems(schema, #"{"tasks": [{"id": "a"}, {"id": 1}, {}], "error": {}}"#) == [
                "/tasks/1/id: is integer, not string", "/tasks/2: lacks id",
                "/error: is object, not null", "/error: fits none of the alternatives",
            ])
    }
}
