package import JSON

// An app gets the content state of a push, and nothing that names the revision. So the revision travels in a property
// of the content state, if the policy names one.
extension Policy {
    /// Stands for the revision while content is judged, because the revision is known only under the lock of the
    /// activity. No activity has so many, so a version that takes this number takes every revision.
    package static let revisionPlaceholder = Int64(Int32.max)

    /// A content state with room for the revision; whatever stood there is replaced.
    package func holdingRevision(in contentState: JSONObject) -> JSONObject {
        guard let revisionProperty else { return contentState }
        var contentState = contentState
        contentState[revisionProperty] = .number(JSONNumber(Self.revisionPlaceholder))
        return contentState
    }

    /// A content state with this revision. One without room for it stays as it is: it was accepted before the policy
    /// named the property, and phones may not decode it there.
    package func filling(_ contentState: JSONValue, with revision: Revision) -> JSONValue {
        replacingRevision(in: contentState, with: .number(JSONNumber(revision)))
    }

    /// A content state with the revision of another one. Two that differ in nothing else are equal then.
    package func aligning(_ contentState: JSONValue, with other: JSONValue) -> JSONValue {
        guard let revision = revisionProperty.flatMap({ other[$0] }), case .number = revision else {
            return contentState
        }
        return replacingRevision(in: contentState, with: revision)
    }

    private func replacingRevision(in contentState: JSONValue, with revision: JSONValue) -> JSONValue {
        guard let revisionProperty, var object = contentState.object, case .number? = object[revisionProperty] else {
            return contentState
        }
        object[revisionProperty] = revision
        return .object(object)
    }
}
