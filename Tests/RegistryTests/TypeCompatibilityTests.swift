import APITypes
import ActivityModel
import JSON
import OrchestratorTestSupport
import Testing

@testable import Registry

@Suite("What new schemas would do to what runs")
struct TypeCompatibilityTests {
    /// The schemas of the only version so far, and those of a version for apps from `least` on.
    private func compatibility(
        from old: String,
        to new: String,
        least: AppVersion? = nil
    ) throws -> TypeCompatibility {
        let version = TypeContext.Version(
            version: 1,
            attributesSchema: try ContentSchema([:]),
            contentStateSchema: try ContentSchema(json(old)),
            minAppVersion: nil,
            isRetired: false
        )
        return TypeCompatibility(
            try TypeSchemas(attributes: [:], contentState: json(new)),
            minAppVersion: least,
            before: TypeContext(
                app: BundleID(stored: "com.example.app"),
                name: ActivityTypeName(stored: "Game"),
                versions: [version]
            )
        )
    }

    /// An activity that phones with version 1.0 of the app follow.
    private func activity(_ contentState: JSONValue) -> RunningPage.Activity {
        RunningPage.Activity(
            key: 1,
            id: "final",
            attributes: [:],
            contentState: contentState,
            usesChannel: false,
            appVersions: ["1.0"]
        )
    }

    /// Another schema of the content, and what it changes.
    struct Change: Sendable, CustomTestStringConvertible {
        let schema: String
        let code: String
        let pointer: String
        /// Whether apps with the earlier one are hurt if both stay.
        let hurts: Bool
        var testDescription: String { code }
    }

    private static func schema(
        _ phase: String = #"{"enum":["first","second"]}"#,
        minute: String = #"{"type":"integer","minimum":0,"maximum":90}"#,
        team: String = #"{"type":"string","pattern":"^[A-Z]+$"}"#,
        more: String = "",
        required: String = #"["phase"]"#
    ) -> String {
        #"""
        {"type":"object","properties":{"phase":\#(phase),"minute":\#(minute),"team":\#(team)\#(more)},
         "required":\#(required),"additionalProperties":false}
        """#
    }

    static let changes = [
        Change(
            schema: schema(#"{"enum":["first","second","extra"]}"#),
            code: "enum_widened",
            pointer: "/properties/phase/enum",
            hurts: true
        ),
        Change(
            schema: schema(minute: #"{"type":"integer","minimum":0,"maximum":120}"#),
            code: "range_widened",
            pointer: "/properties/minute/maximum",
            hurts: true
        ),
        Change(
            schema: schema(minute: #"{"type":["integer","null"],"minimum":0,"maximum":90}"#),
            code: "type_widened",
            pointer: "/properties/minute",
            hurts: true
        ),
        Change(
            schema: schema(minute: #"{"type":"string"}"#),
            code: "type_changed",
            pointer: "/properties/minute",
            hurts: true
        ),
        Change(schema: schema(required: "[]"), code: "required_removed", pointer: "/required", hurts: true),
        Change(
            schema: schema(more: #","clock":{"type":"string"}"#),
            code: "property_added",
            pointer: "/properties/clock",
            hurts: true
        ),
        Change(
            schema: schema(team: #"{"type":"string"}"#),
            code: "pattern_widened",
            pointer: "/properties/team",
            hurts: true
        ),
        Change(
            schema: schema(#"{"enum":["first"]}"#),
            code: "enum_narrowed",
            pointer: "/properties/phase/enum",
            hurts: false
        ),
        Change(
            schema: schema(minute: #"{"type":"integer","minimum":0,"maximum":45}"#),
            code: "range_narrowed",
            pointer: "/properties/minute/maximum",
            hurts: false
        ),
        Change(
            schema: schema(team: #"{"type":"string","pattern":"^[A-Z]{3}$"}"#),
            code: "cannot_be_compared",
            pointer: "/properties/team/pattern",
            hurts: false
        ),
        Change(
            schema: schema(required: #"["phase","minute"]"#),
            code: "required_added",
            pointer: "/required",
            hurts: false
        ),
    ]

    @Test("Beside an earlier version, what its phones could not decode breaks while they follow", arguments: changes)
    func beside(_ change: Change) throws {
        var compatibility = try compatibility(from: Self.schema(), to: change.schema, least: AppVersion("2.0"))
        let activity = activity(["phase": "first", "minute": 1])
        compatibility.add(RunningPage(activities: [activity], last: nil))
        #expect(compatibility.doubtful(activity).map(\.appVersion) == (change.hurts ? ["1.0"] : []))
        for follower in compatibility.doubtful(activity) { compatibility.add(follower.appVersion, of: activity) }
        let breaking = compatibility.findings.filter { $0.severity == .breaking }
        guard change.hurts else {
            #expect(breaking.isEmpty)
            return
        }
        let finding = try #require(breaking.first { $0.code == change.code })
        #expect(finding.fieldError.pointer.description == "/content_state_schema" + change.pointer)
        #expect(finding.schemaVersion == 1)
        #expect(finding.message.contains("is refused while apps of version 1.0 follow 'final'"))
    }

    @Test("In the place of an earlier version, every difference breaks whose effect is known", arguments: changes)
    func replacing(_ change: Change) throws {
        var compatibility = try compatibility(from: Self.schema(), to: change.schema)
        #expect(!compatibility.isRunning)
        let finding = try #require(compatibility.findings.first { $0.code == change.code })
        #expect(finding.fieldError.pointer.description == "/content_state_schema" + change.pointer)
        #expect(finding.schemaVersion == 1)
        #expect((finding.severity == .breaking) == (change.code != "cannot_be_compared"))
        compatibility.add(RunningPage(activities: [activity(["phase": "second", "minute": 1])], last: nil))
        #expect(compatibility.isRunning)
    }

    @Test("What runs and is not decodable breaks, though versions stay beside each other")
    func running() throws {
        var compatibility = try compatibility(
            from: Self.schema(),
            to: Self.schema(required: #"["phase","team"]"#),
            least: AppVersion("2.0")
        )
        compatibility.add(RunningPage(activities: [activity(["phase": "first"])], last: nil))
        #expect(compatibility.findings.map(\.code) == ["required_added"])
        #expect(compatibility.findings.map(\.severity) == [.breaking])
        #expect(compatibility.findings.first?.message.contains("the activity 'final' does not satisfy it") == true)
    }
}
