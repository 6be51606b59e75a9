import JSON
import Testing

@Suite("JSON pointers")
struct JSONPointerTests {
    static let document: JSONValue = [
        "foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5, "k\"l": 6, " ": 7, "m~n": 8,
        "nested": ["list": [["x": 9]]],
    ]

    @Test(
        "The examples of RFC 6901 lead where it says",
        arguments: [
            ("/foo", ["bar", "baz"]), ("/foo/0", "bar"), ("/", 0), ("/a~1b", 1), ("/c%d", 2), ("/e^f", 3), ("/g|h", 4),
            ("/i\\j", 5), ("/k\"l", 6), ("/ ", 7), ("/m~0n", 8), ("/nested/list/0/x", 9),
            ("", JSONPointerTests.document),
        ] as [(String, JSONValue)]
    )
    func found(text: String, value: JSONValue) throws {
        let pointer = try #require(JSONPointer(text))
        #expect(Self.document[pointer] == value)
        #expect(pointer.description == text)
    }

    @Test(
        "What the document does not reach is nil",
        arguments: ["/foo/2", "/foo/-", "/foo/00", "/foo/+1", "/foo/bar", "/x", "/foo/0/0", "/m~0n/x", "/foo/"]
    )
    func missing(text: String) throws {
        #expect(Self.document[try #require(JSONPointer(text))] == nil)
    }

    @Test("Text that is no pointer is refused", arguments: ["foo", "~", "/~", "/~2", "/a~", "#/a"])
    func malformed(text: String) {
        #expect(JSONPointer(text) == nil)
    }

    @Test("A pointer is built token by token, escaping by itself")
    func appending() {
        let pointer = JSONPointer().appending("a/b").appending(index: 3).appending("~1")
        #expect(pointer.description == "/a~1b/3/~01")
        #expect(JSONPointer(pointer.description) == pointer)
    }
}
