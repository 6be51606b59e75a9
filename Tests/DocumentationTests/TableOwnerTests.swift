import Foundation
import Testing

/// One room changes the rows of a table. The comment of the room, its door, names the table.
@Suite("The tables and the rooms that write them")
struct TableOwnerTests {
    /// The tables of the schema, without partitions.
    private static let tables = Result {
        let schemas = try Document.files(in: "schema", ending: ".sql").map { try Document(path: $0).text() }
        return Set(
            schemas.flatMap { schema in
                schema.matches(of: /CREATE (?:UNLOGGED )?TABLE (\w+) \(/).map { String($0.output.1) }
            }
        )
    }

    /// The names of tables at the doors of targets. A door that says "None" has no names.
    private static let doors = Result {
        var doors: [String: Set<String>] = [:]
        for file in Document.files(in: "Sources", ending: ".swift") {
            let door = try Document(path: file).text()
                .firstMatch(of: /\/\/\/ - \*\*Tables that it alone writes\.\*\*(.*(?:\n\/\/\/   .*)*)/)
            guard let door else { continue }
            let names = door.output.1.matches(of: /`([a-z_]+)`/).map { String($0.output.1) }
            doors[target(of: file), default: []].formUnion(names)
        }
        return doors
    }

    /// The only files whose statements do not name a table. The name of a partition is computed. The room that owns a
    /// table gives its name to an `ActivityPart`.
    private static let unnamed = ["PartitionedTable", "ActivityPart"].map { "Sources/Store/Database/\($0).swift" }

    private static let verbs = ["INSERT INTO ", "UPDATE ", "DELETE FROM ", "copyIn(into: ", "ActivityPart(table: "]

    /// Rules about what columns mean: how each begins, as a regular expression, and the files or rooms where it may stand.
    private static let meanings: [(text: String, places: [String])] = [
        // What reaches a card.
        (#"mode = 'token' AND \S*state = '(riding|due)'"#, ["Store/Fragments/CardStanding.swift"]),
        (#"mode = 'channel' AND \S*state "#, ["Store/Fragments/CardStanding.swift"]),
        (#"ended_at < clock_timestamp"#, ["Store/Fragments/CardLife.swift"]),
        (#"sent_with_ring AND"#, ["Store/Segments/SentChange.swift"]),
        (#"min_interval_seconds\) \*"#, ["Store/Segments/HeldChange.swift"]),
        // What becomes of a channel.
        (#"lost_at (IS NULL|(DESC )?NULLS)"#, ["Store/Fragments/ChannelStanding.swift"]),
        (#"IN \('ready', 'deleting'\)|IN \('deleted', 'lost'\)"#, ["Store/Fragments/ChannelStanding.swift"]),
        // Who works, and what is left to do.
        (#"lease_daemon"#, ["Store/Segments/"]),
        (#"is_settled AND|NOT \S*is_settled"#, ["Cards/Versions/CardVersions.swift"]),
        (#"pg_snapshot_xm(in|ax)"#, ["Store/Events/EventVisibility.swift"]),
        // Whom a start reaches, and by what policy.
        (#"of: "\S*policy""#, ["Store/Fragments/StoredPolicy.swift"]),
        (#"\{audience,"#, ["Store/Fragments/StartAudience.swift"]),
        (#"claimed_at > now"#, ["Cards/Starts/StartRows+Spending.swift"]),
        // Tokens that APNs rejected or knows as dead.
        (#"suspect_from"#, ["Store/Fragments/", "DeliveryStore/"]),
        (#"contradictions\)? <"#, ["Cards/Answers/PushExceptions.swift"]),
    ]

    private static func target(of file: String) -> String { String(file.split(separator: "/")[1]) }

    /// What the statements in a file write, comments left out: names, or the beginning of an interpolation.
    private static func written(in file: String) throws -> [String] {
        let verb = /(?:INSERT INTO|UPDATE|DELETE FROM|(?:copyIn\(into|ActivityPart\(table):) +"?([a-z_]+|\\\()/
        return try Document(path: file).text().split(separator: "\n")
            .filter { line in verbs.contains { line.contains($0) } && line.firstMatch(of: /^ *\/\//) == nil }
            .flatMap { line in
                // A lock writes nothing.
                line.replacing(/FOR (?:NO KEY )?UPDATE/, with: "").matches(of: verb).map { String($0.output.1) }
            }
    }

    @Test("Each table stands at the door of one room, and nothing else does")
    func oneDoor() throws {
        let tables = try Self.tables.get()
        let doors = try Self.doors.get()
        #expect(tables.count > 30)
        #expect(doors.count > 10)
        for table in tables.sorted() {
            let owners = doors.filter { $0.value.contains(table) }.keys.sorted()
            #expect(owners.count == 1, "\(table) stands at the doors of \(owners)")
        }
        for (target, names) in doors {
            #expect(names.isSubset(of: tables), "\(target) names \(names.subtracting(tables).sorted())")
        }
    }

    @Test("Each table is written by the room whose door says so")
    func owners() throws {
        let tables = try Self.tables.get()
        let doors = try Self.doors.get()
        var found: Set<String> = []
        for file in Document.files(in: "Sources", ending: ".swift") {
            let target = Self.target(of: file)
            for name in try Self.written(in: file) where tables.contains(name) {
                found.insert(name)
                #expect(doors[target]?.contains(name) == true, "\(file) writes \(name)")
            }
        }
        // This test sees a statement for each table.
        #expect(tables.subtracting(found).sorted() == [])
    }

    @Test("Each statement that writes names its table")
    func names() throws {
        for file in Document.files(in: "Sources", ending: ".swift") where !Self.unnamed.contains(file) {
            let isNamed = try !Self.written(in: file).contains("\\(")
            #expect(isNamed, "\(file) writes a table whose name is not in the statement")
        }
    }

    @Test("A rule about what columns mean stands in one place, as text of SQL that others insert")
    func rules() throws {
        // The record writes no table, and reads all.
        let rooms = try ["Record"] + Self.doors.get().keys
        let texts = try rooms.flatMap { Document.files(in: "Sources/\($0)", ending: ".swift") }.map { file in
            let lines = try Document(path: file).text().split(separator: "\n")
            return (file: file, text: lines.filter { $0.firstMatch(of: /^ *\/\//) == nil }.joined(separator: "\n"))
        }
        for (text, places) in Self.meanings {
            let rule = try Regex(text)
            let files = texts.filter { $0.text.contains(rule) }.map { $0.file }
            #expect(!files.isEmpty, "\(text) stands nowhere")
            for file in files {
                let mayStand = places.contains { file.hasPrefix("Sources/\($0)") }
                #expect(mayStand, "\(file) has \(text), which is a rule of \(places)")
            }
        }
    }

    @Test("The rooms that accept and that send have no SQL: they name no table", arguments: ["Intake", "Delivery"])
    func engine(room: String) throws {
        for file in Document.files(in: "Sources/\(room)", ending: ".swift") {
            let sql = try Document(path: file).text().split(separator: "\n")
                .filter { $0.contains(#/\b(?:SELECT|FROM|JOIN|INSERT INTO|UPDATE|DELETE) /#) }
            #expect(sql == [], "\(file) names a table")
        }
    }
}
