import ActivityModel
import Testing

/// Apple's table of push types, written down a second time.
@Suite("Push types")
struct PushTypeTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let type: PushType
        let word: String
        let topic: String
        let priorities: Set<PushPriority>
        let bytes: Int

        var testDescription: String { word }
    }

    static let rows: [Row] = [
        Row(.alert, "alert", "com.example.Scores"),
        Row(.background, "background", "com.example.Scores", priorities: [.five]),
        Row(
            .liveActivity,
            "liveactivity",
            "com.example.Scores.push-type.liveactivity",
            priorities: [.five, .ten]
        ),
        Row(.voip, "voip", "com.example.Scores.voip", bytes: 5120),
        Row(.complication, "complication", "com.example.Scores.complication"),
        Row(.fileProvider, "fileprovider", "com.example.Scores.pushkit.fileprovider"),
        Row(.mdm, "mdm", "com.example.Scores"),
        Row(.location, "location", "com.example.Scores.location-query"),
        Row(.pushToTalk, "pushtotalk", "com.example.Scores.voip-ptt"),
        Row(.widgets, "widgets", "com.example.Scores.push-type.widgets"),
        Row(.controls, "controls", "com.example.Scores.push-type.controls"),
    ]

    @Test("each has Apple's word, topic, priorities and size", arguments: rows)
    func row(row: Row) throws {
        #expect(PushType(rawValue: row.word) == row.type)
        #expect(row.type.topic(of: try #require(BundleID("com.example.Scores"))) == row.topic)
        #expect(row.type.priorities == row.priorities)
        #expect(row.type.sizeLimit.bytes == row.bytes)
    }

    @Test("none is missing here, and words in other letters are none")
    func complete() {
        #expect(Set(Self.rows.map(\.type)) == Set(PushType.allCases))
        #expect(PushType(rawValue: "LiveActivity") == nil)
    }
}

extension PushTypeTests.Row {
    fileprivate init(
        _ type: PushType,
        _ word: String,
        _ topic: String,
        priorities: Set<PushPriority> = [.one, .five, .ten],
        bytes: Int = 4096
    ) {
        self.init(type: type, word: word, topic: topic, priorities: priorities, bytes: bytes)
    }
}
