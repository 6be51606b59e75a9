package import ActivityModel
import JSON

extension AlertContent: APIRequest, FieldwiseValue {
    package static let fields = Fields(
        .required("title", \.title, .line),
        .required("body", \.body, .line),
        .optional("sound", \.sound, .filled()),
        make: Self.init
    )
}

extension FieldType where Value == AlertText {
    /// A string, or `{loc_key, loc_args?}`.
    fileprivate static var line: Self {
        FieldType { value, context in
            if let text = value.string { return .plain(text) }
            guard value.object != nil else {
                context.refuse(FieldError.wrongType, "A text or {loc_key, loc_args} is expected.")
                return nil
            }
            return context.object(value) { reader in
                let key = reader.required("loc_key", .filled())
                let arguments = reader.optional("loc_args", .texts) ?? []
                guard reader.finish(), let key else { return nil }
                return .localized(key: key, arguments: arguments)
            }
        } write: {
            $0.json
        }
    }
}
