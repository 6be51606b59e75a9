import APITypes
import ActivityModel
import JSON
import Testing

@testable import Registry

@Suite("Whether schemas may be registered")
struct TypeSchemasTests {
    @Test(
        "A policy whose property the content state lacks, or that is no integer for every revision, is 422",
        arguments: [
            (["type": "string"], "revision"), (["type": "number"], "revision"), (["type": "integer"], "other"),
            (["type": "integer", "maximum": 127], "revision"), (["type": "integer", "minimum": 2], "revision"),
        ] as [(JSONValue, String)]
    )
    func revisionProperty(property: JSONValue, name: String) {
        var policy = Policy()
        policy.revisionProperty = name
        let state: JSONValue = ["type": "object", "properties": ["revision": property]]
        let refusal = #expect(throws: Problem.self) {
            try TypeSchemas.check(policy, attributes: [:], contentState: state)
        }
        #expect(refusal?.status == 422)
        #expect(refusal?.errors.map(\.pointer.description) == ["/policy/revision_property"])
    }

    @Test("A schema that names a Swift type where it would not be applied is 422 with the place")
    func unapplied() {
        let state: JSONValue = ["patternProperties": ["^at": ["type": "number", "x-swift-type": "Date"]]]
        let refused = #expect(throws: Problem.self) { try TypeSchemas(attributes: [:], contentState: state) }
        #expect(refused?.status == 422)
        #expect(refused?.errors.map(\.pointer.description) == ["/content_state_schema/patternProperties/^at"])
    }
}
