import JSON
import TestSupport
import Testing

@Suite("JSON values")
struct JSONValueTests {
    @Test("Any value survives being written and read")
    func roundTrip() throws {
        var generator = SeededRandom(seed: 0x7A11)
        for _ in 0..<500 {
            let value = JSONValue.random(depth: 4, using: &generator)
            let bytes = value.serialized()
            let read = try JSONValue.parse(bytes)
            #expect(read == value)
            #expect(read.hashValue == value.hashValue)
            #expect(read.serialized() == bytes)
        }
    }

    @Test("A random change of one byte is refused or read, never a crash, and what is read survives again")
    func mutation() throws {
        var generator = SeededRandom(seed: 0xC0FFEE)
        var refused = 0
        for _ in 0..<2_000 {
            var bytes = JSONValue.random(depth: 3, using: &generator).serialized()
            bytes[Int.random(in: bytes.indices, using: &generator)] = UInt8.random(in: .min ... .max, using: &generator)
            do {
                let value = try JSONValue.parse(bytes)
                #expect(try JSONValue.parse(value.serialized()) == value)
            } catch {
                refused += 1
                #expect((0...bytes.count).contains(error.offset))
            }
        }
        #expect(refused > 200)
    }

    @Test("Objects are equal whatever their order, and hash alike")
    func objectEquality() {
        let first: JSONValue = ["a": 1, "b": [true, nil], "c": "x"]
        let second: JSONValue = ["c": "x", "a": 1.0, "b": [true, nil]]
        #expect(first == second)
        #expect(first.hashValue == second.hashValue)
        #expect(first != ["a": 1, "b": [nil, true], "c": "x"])
        #expect(first != ["a": 1, "b": [true, nil]])
        #expect(JSONValue.bool(true) != 1)
        #expect(JSONValue.string("1") != 1)
        #expect(JSONValue.null != false)
    }

    @Test("An object keeps the order of its members, also across the size at which it is indexed")
    func objectOrder() {
        var object = JSONObject()
        for index in 0..<40 { object["k\(index)"] = .number(JSONNumber(index)) }
        #expect(object.keys == (0..<40).map { "k\($0)" })
        object["k3"] = "changed"
        object["k5"] = nil
        #expect(object.count == 39)
        #expect(object.keys[3] == "k3")
        #expect(object["k3"] == "changed")
        #expect(object["k5"] == nil)
        #expect(object["k39"] == 39)
        for index in 6..<38 { object["k\(index)"] = nil }
        #expect(object.keys == ["k0", "k1", "k2", "k3", "k4", "k38", "k39"])
        #expect(object["k38"] == 38)
        object["k38"] = nil
        object["absent"] = nil
        #expect(object["k39"] == 39)
        #expect(object.count == 6)
    }

    @Test("Accessors tell only what is there")
    func accessors() {
        let value: JSONValue = ["s": "x", "i": 3, "d": 2.5, "b": true, "n": nil, "a": [1, 2]]
        #expect(value["s"]?.string == "x")
        #expect(value["i"]?.int64 == 3)
        #expect(value["d"]?.int64 == nil)
        #expect(value["d"]?.double == 2.5)
        #expect(value["b"]?.bool == true)
        #expect(value["n"]?.isNull == true)
        #expect(value["a"]?.array?.count == 2)
        #expect(value["a"]?[1] == 2)
        #expect(value["a"]?[2] == nil)
        #expect(value["x"] == nil)
        #expect(value.object?.count == 6)
        #expect(value["s"]?.bool == nil)
        #expect(value["b"]?.string == nil)
        #expect(value["s"]?.object == nil)
        #expect("\(value)" == "object of 6")
    }

    @Test("A slash stays a slash; only quotes, backslashes and control characters are escaped")
    func escaping() {
        #expect(JSONValue.string("a/b\"c\\d\n\u{1F}é😀\u{7F}").text == "\"a/b\\\"c\\\\d\\n\\u001fé😀\u{7F}\"")
    }
}
