import Cryptography

/// A file that pages refer to. Its address contains its hash, so browsers may keep it forever.
struct Asset: Sendable {
    let address: Address
    let answer: ConsoleAnswer

    private init(_ suffix: String, type: String, _ bytes: [UInt8]) {
        let hash = Base64URL.encode(Array(SHA256.hash(bytes).prefix(9)))
        // An address within the console is never nil.
        address = Address(returningTo: "/console/assets/\(hash).\(suffix)") ?? Address("/console")
        answer = ConsoleAnswer(status: 200, type: type, body: .bytes(bytes), cache: .forever)
    }

    static let style = Asset("css", type: "text/css; charset=utf-8", PackageResources.console_css)
    static let script = Asset("js", type: "text/javascript; charset=utf-8", PackageResources.console_js)
    static let icon = Asset("svg", type: "image/svg+xml", PackageResources.icon_svg)

    static func at(_ path: String) -> Asset? { [style, script, icon].first { $0.address.text == path } }
}
