import FoundationEssentials
package import JSON

/// An attributes type that phones decode as iOS does: with `JSONDecoder` and its default strategies.
///
/// Apple, Starting and updating Live Activities with ActivityKit push notifications: the system always decodes with
/// default strategies. For other types, phones accept any JSON.
package struct KnownType: Sendable {
    /// The name of the Swift struct without its module, as in `attributes-type`.
    package let name: String
    /// Nil if the value decodes. Otherwise the reason, without the value itself.
    package let attributesFault: @Sendable (JSONValue) -> String?
    package let contentStateFault: @Sendable (JSONValue) -> String?

    package init<Attributes: LiveActivityAttributes>(_ type: Attributes.Type) {
        name = String(describing: type)
        attributesFault = { decodingFault(of: $0, as: Attributes.self) }
        contentStateFault = { decodingFault(of: $0, as: Attributes.ContentState.self) }
    }

    /// The types that ship with the simulator, by name.
    package static let samples: [String: KnownType] = {
        let types = [KnownType(GameAttributes.self)]
        return Dictionary(uniqueKeysWithValues: types.map { ($0.name, $0) })
    }()
}

private func decodingFault<Value: Decodable>(of value: JSONValue, as type: Value.Type) -> String? {
    do {
        _ = try JSONDecoder().decode(Value.self, from: Data(value.serialized()))
        return nil
    } catch DecodingError.keyNotFound(let key, let context) {
        return "\(path(context.codingPath))/\(key.stringValue) is missing"
    } catch DecodingError.valueNotFound(let type, let context) {
        return "\(path(context.codingPath)) is null, not \(type)"
    } catch DecodingError.typeMismatch(let type, let context) {
        return "\(path(context.codingPath)) is no \(type)"
    } catch DecodingError.dataCorrupted(let context) {
        return "\(path(context.codingPath)) does not fit its type"
    } catch {
        return "does not decode"
    }
}

private func path(_ keys: [any CodingKey]) -> String {
    keys.map { "/\($0.intValue.map(String.init) ?? $0.stringValue)" }.joined()
}
