import APITypes
import ActivityModel
import JSON
import Testing

@Suite("Bodies of ordinary pushes")
struct PushPayloadTests {
    struct Wrong: Sendable, CustomTestStringConvertible {
        let type: PushType
        let aps: String?
        let custom: String?
        /// `place code` of each error.
        let errors: [String]

        init(_ type: PushType, _ aps: String?, custom: String? = nil, _ errors: String...) {
            (self.type, self.aps, self.custom, self.errors) = (type, aps, custom, errors)
        }

        var testDescription: String { "\(type) \(aps ?? "") \(custom ?? "")" }
    }

    static let shapes: [Wrong] = [
        Wrong(.alert, "7", "/aps wrong_type"),
        Wrong(.alert, #"{"alert":7}"#, "/aps/alert wrong_type"),
        Wrong(.alert, #"{"alert":{}}"#, "/aps/alert missing"),
        Wrong(.alert, #"{"alert":{"launch-image":"l"}}"#, "/aps/alert missing"),
        Wrong(.alert, #"{"alert":{"title":7}}"#, "/aps/alert/title wrong_type"),
        Wrong(.alert, #"{"alert":{"sub-title":"s","body":"b"}}"#, "/aps/alert/sub-title unknown_field"),
        Wrong(
            .alert,
            #"{"alert":{"title":"t","title-loc-key":"T"}}"#,
            "/aps/alert/title-loc-key invalid_value"
        ),
        Wrong(.alert, #"{"alert":{"body":"b","loc-args":["x"]}}"#, "/aps/alert/loc-args invalid_value"),
        Wrong(
            .alert,
            #"{"alert":{"subtitle-loc-key":"S","subtitle-loc-args":[1]}}"#,
            "/aps/alert/subtitle-loc-args wrong_type"
        ),
        Wrong(.alert, #"{"badge":-1}"#, "/aps/badge out_of_range"),
        Wrong(.alert, #"{"badge":1.5}"#, "/aps/badge wrong_type"),
        Wrong(.alert, #"{"badge":"1"}"#, "/aps/badge wrong_type"),
        Wrong(.alert, #"{"sound":""}"#, "/aps/sound wrong_type"),
        Wrong(.alert, #"{"sound":{"name":"n","volume":1}}"#, "/aps/sound/critical missing"),
        Wrong(.alert, #"{"sound":{"critical":0,"name":"n"}}"#, "/aps/sound/critical out_of_range"),
        Wrong(.alert, #"{"sound":{"critical":1}}"#, "/aps/sound/name missing"),
        Wrong(
            .alert,
            #"{"sound":{"critical":1,"name":"n","volume":1.01}}"#,
            "/aps/sound/volume out_of_range"
        ),
        Wrong(.alert, #"{"badge":1,"thread-id":7}"#, "/aps/thread-id wrong_type"),
        Wrong(.alert, #"{"badge":1,"content-available":true}"#, "/aps/content-available wrong_type"),
        Wrong(.alert, #"{"badge":1,"mutable-content":2}"#, "/aps/mutable-content out_of_range"),
        Wrong(.alert, #"{"badge":1,"interruption-level":"loud"}"#, "/aps/interruption-level invalid_value"),
        Wrong(.alert, #"{"badge":1,"relevance-score":75}"#, "/aps/relevance-score out_of_range"),
        Wrong(.alert, #"{"badge":1,"contentAvailable":1}"#, "/aps/contentAvailable unknown_field"),
        Wrong(
            .alert,
            #"{"badge":1,"event":"update","content-state":{}}"#,
            "/aps/event unknown_field",
            "/aps/content-state unknown_field"
        ),
    ]

    static let rules: [Wrong] = [
        Wrong(.alert, nil, "/aps missing"),
        Wrong(.alert, #"{"content-available":1}"#, "/aps missing"),
        Wrong(.alert, #"{"badge":1}"#, custom: #"{"aps":{}}"#, "/custom/aps invalid_value"),
        Wrong(
            .background,
            #"{"alert":"a","sound":"default","badge":1}"#,
            "/aps/alert invalid_value",
            "/aps/sound invalid_value",
            "/aps/badge invalid_value"
        ),
        Wrong(.background, #"{"badge":0}"#, "/aps/badge invalid_value"),
        Wrong(.widgets, #"{"alert":"a"}"#, "/aps/alert invalid_value"),
        Wrong(.controls, #"{"sound":"default"}"#, "/aps/sound invalid_value"),
        Wrong(.mdm, nil, "/custom/mdm missing"),
        Wrong(.mdm, nil, custom: #"{"mdm":""}"#, "/custom/mdm wrong_type"),
        Wrong(.mdm, #"{"badge":1}"#, custom: #"{"mdm":"m"}"#, "/aps invalid_value"),
        Wrong(.mdm, nil, custom: #"{"mdm":"m","x":1}"#, "/custom/x unknown_field"),
        Wrong(.fileProvider, nil, "/custom/container-identifier missing"),
        Wrong(
            .fileProvider,
            #"{"content-available":1}"#,
            custom: #"{"container-identifier":"c"}"#,
            "/aps invalid_value"
        ),
        Wrong(.liveActivity, #"{"alert":"a"}"#, "/push_type invalid_value"),
        Wrong(.voip, nil, custom: #"{"aps":1}"#, "/custom/aps invalid_value"),
    ]

    @Test("what is wrong is named by its place", arguments: shapes + rules)
    func refused(wrong: Wrong) throws {
        let aps = try wrong.aps.map { try JSONValue(parsing: $0) }
        let custom = try JSONValue(parsing: wrong.custom ?? "{}").object ?? [:]
        let problem = try #require(throws: Problem.self) { try PushPayload(wrong.type, aps: aps, custom: custom) }
        #expect(problem.errors.map { "\($0.pointer) \($0.code)" } == wrong.errors)
    }

    @Test("a background push is marked as one, and has nothing to see or hear")
    func background() throws {
        let payload = try PushPayload(.background, aps: nil, custom: [:])
        #expect(String(decoding: payload.body, as: UTF8.self) == #"{"aps":{"content-available":1}}"#)
    }

    @Test("null stands for nothing, and for nothing else")
    func null() throws {
        let aps = try JSONValue(parsing: #"{"alert":{"body":"b","title-loc-key":null,"loc-args":null},"badge":null}"#)
        let payload = try PushPayload(.alert, aps: aps, custom: ["kept": nil])
        #expect(String(decoding: payload.body, as: UTF8.self) == #"{"aps":{"alert":"b"},"kept":null}"#)
    }

    @Test("digits and order of the app's own data stay, and bytes are UTF-8 without needless escapes")
    func passThrough() throws {
        let custom = try #require(try JSONValue(parsing: #"{"z":1.50,"a":"é/\"","big":12345678901234567890}"#).object)
        let payload = try PushPayload(.alert, aps: ["badge": 1], custom: custom)
        let text = #"{"aps":{"badge":1},"z":1.50,"a":"é/\"","big":12345678901234567890}"#
        #expect(String(decoding: payload.body, as: UTF8.self) == text)
        #expect(payload.body.count == text.utf8.count)
    }
}
