package import APITypes
import ActivityModel
package import JSON

/// Attributes or a content state as each version of their type sees them.
///
/// Versions may want one thing in different forms: a date as a number here, as a text there. Only one form goes to all
/// phones, so it is chosen for those who have to decode it.
package struct JudgedContent: Sendable {
    /// Content in the form in which it goes to phones.
    package struct Settled: Sendable {
        package let content: JSONValue
        /// The versions that decode it.
        package let decodedBy: Set<Int>
    }

    /// What is wrong with content, by version.
    package struct Refusal: Error, Sendable {
        package let errors: [FieldError]
        /// The form that the newest version makes of it.
        package let content: JSONValue
    }

    private struct Verdict: Sendable {
        let settled: JSONValue
        let errors: [FieldError]
    }

    private let original: JSONValue
    private let part: SchemaPart
    package let type: TypeContext
    private let verdicts: [Int: Verdict]

    /// The longest content that is judged: four times what the phone holds, since dates may leave in fewer bytes than
    /// they came in.
    static let maximumBytes = 4 * Registry.maximumContentBytes

    /// Judges content by every version that some app decodes. A content state gets room for the revision
    /// (``Policy/holdingRevision(in:)``).
    ///
    /// - Throws: 422 `payload_too_large` for content that fits into no push whatever its form; it is not worth the
    ///   work.
    package init(_ content: JSONObject, as part: SchemaPart, by type: TypeContext) throws(Problem) {
        original = .object(part == .contentState ? type.policy.holdingRevision(in: content) : content)
        self.part = part
        self.type = type
        guard original.leastByteCount <= Self.maximumBytes else { throw .tooLong(original, part) }
        var verdicts: [Int: Verdict] = [:]
        for version in type.versions.reachable {
            guard let schema = type.schema(part, version: version) else { continue }
            let (settled, errors) = schema.settle(original, version: version)
            verdicts[version] = Verdict(settled: settled, errors: errors)
        }
        self.verdicts = verdicts
    }

    /// The form that all of these versions decode. If `versions` is empty, because there are no followers, the form
    /// that the newest possible version decodes.
    package func settled(for versions: Set<Int>) throws(Refusal) -> Settled {
        // Most types have one version, so everybody who follows decodes it.
        if verdicts.count == 1, let (version, verdict) = verdicts.first, verdict.errors.isEmpty,
            versions.allSatisfy({ $0 == version })
        {
            return Settled(content: verdict.settled, decodedBy: [version])
        }
        if versions.isEmpty {
            let takers = type.versions.current.reversed()
            let taker = takers.first { verdicts[$0]?.errors.isEmpty == true } ?? type.versions.newest
            return try settled(for: [taker])
        }
        var forms: [JSONValue] = []
        for version in versions.sorted(by: >) {
            guard let verdict = verdicts[version], verdict.errors.isEmpty, !forms.contains(verdict.settled) else {
                continue
            }
            forms.append(verdict.settled)
            if versions.allSatisfy({ $0 == version || decodes(verdict.settled, $0) }) {
                let decodedBy = Set(type.versions.reachable.filter { $0 == version || decodes(verdict.settled, $0) })
                return Settled(content: verdict.settled, decodedBy: decodedBy)
            }
        }
        let errors = versions.sorted().flatMap { verdicts[$0]?.errors ?? [] }
        throw Refusal(
            errors: errors.isEmpty ? conflicts(among: versions.sorted()) : errors,
            content: verdicts[type.versions.newest]?.settled ?? original
        )
    }

    /// Whether it depends on the versions that follow if the content is refused.
    package var dependsOnFollowers: Bool {
        guard verdicts.count > 1 else { return false }
        let settled = verdicts.values.filter(\.errors.isEmpty).map(\.settled)
        guard let first = settled.first else { return false }
        return settled.count < verdicts.count || settled.contains { $0 != first }
    }

    private func decodes(_ form: JSONValue, _ version: Int) -> Bool {
        if let verdict = verdicts[version], verdict.settled == form { return verdict.errors.isEmpty }
        return type.decodes(form, as: part, version: version)
    }

    /// Each version takes the content, but not in the form in which the others do.
    private func conflicts(among versions: [Int]) -> [FieldError] {
        let places = Self.differences(versions.compactMap { verdicts[$0]?.settled }, at: JSONPointer())
        return places.flatMap { place in
            versions.map { version in
                let others = versions.filter { $0 != version }.map(String.init).joined(separator: ", ")
                return FieldError(
                    pointer: place,
                    code: FieldError.conflictingVersions,
                    message:
                        "Version \(version) decodes this in another form than version \(others), and phones of both follow. "
                        + "One form goes to all of them: let the schemas agree, or retire the older version.",
                    schemaVersion: version
                )
            }
        }
    }

    private static func differences(_ forms: [JSONValue], at place: JSONPointer) -> [JSONPointer] {
        guard let first = forms.first, forms.contains(where: { $0 != first }) else { return [] }
        let objects = forms.compactMap(\.object)
        let lists = forms.compactMap(\.array)
        if objects.count == forms.count {
            return objects[0].keys.flatMap { key in
                differences(objects.compactMap { $0[key] }, at: place.appending(key))
            }
        }
        if lists.count == forms.count, lists.allSatisfy({ $0.count == lists[0].count }) {
            return lists[0].indices.flatMap { index in
                differences(lists.map { $0[index] }, at: place.appending(index: index))
            }
        }
        return [place]
    }
}

extension Problem {
    fileprivate static func tooLong(_ content: JSONValue, _ part: SchemaPart) -> Problem {
        let bytes = CompactJSON(content).count
        let limit = Registry.maximumContentBytes
        return payloadTooLarge(
            bytes: bytes,
            limit: limit,
            detail:
                "'\(part.rawValue)' alone has \(bytes) bytes; attributes and content state may have \(limit) together."
        )
    }
}
