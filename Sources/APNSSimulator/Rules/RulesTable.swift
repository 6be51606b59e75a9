import JSON

/// All rules as a table, for people and programs.
package struct RulesTable: Sendable {
    /// One rule, with its API.
    package struct Row: Sendable {
        package let request: String
        package let rule: Rule
    }

    /// The rules of each endpoint, in the order in which they are checked.
    package let rows: [Row]

    package init() {
        let requests: [(String, APNSRoute)] = [
            ("POST /3/device/<token>", .device(token: "")),
            ("POST /4/broadcasts/apps/<bundle id>", .broadcast(bundleID: "")),
            ("POST, GET, DELETE /1/apps/<bundle id>/channels", .channels(bundleID: "")),
            ("GET /1/apps/<bundle id>/all-channels", .allChannels(bundleID: "")), ("anything else", .unknown),
        ]
        rows =
            requests.flatMap { request, endpoint in
                Rules.rules(for: endpoint).map { Row(request: request, rule: $0) }
            } + Self.scripted
    }

    /// Answers whose cause is inside Apple, or that have no published threshold. Tests produce them with a fault.
    private static let scripted: [Row] = [
        ("Apple forbids the action", 403, "Forbidden", .responses),
        ("The client certificate is bad", 403, "BadCertificate", .responses),
        ("The client certificate is for the other environment", 403, "BadCertificateEnvironment", .responses),
        ("Too many pushes in a row went to one token, or to one channel", 429, "TooManyRequests", .errors),
        ("Something is wrong at Apple", 500, "InternalServerError", .responses),
        ("Apple cannot take it now", 503, "ServiceUnavailable", .responses),
        ("The server is going away", 503, "Shutdown", .responses),
        ("The connection was idle for too long; also the reason of a GOAWAY", 400, "IdleTimeout", .responses),
    ].map { condition, status, reason, citation in
        Row(request: "by a fault", rule: Rule(condition, status, reason, citation) { _ in false })
    }

    /// One rule per line under the request that it checks, then the cases accepted with a warning. No newline at the
    /// end.
    package var text: String {
        var lines: [String] = []
        var request = ""
        for row in rows {
            if row.request != request { lines += (lines.isEmpty ? [] : [""]) + [row.request] }
            request = row.request
            let rule = row.rule
            lines.append("  \(rule.status) \(rule.reason): \(rule.condition)")
            let documented = rule.documented.map { "; its pages say \($0.status) \($0.reason)" } ?? ""
            lines.append("      \(rule.citation.rawValue)\(documented)")
        }
        lines += ["", "taken with a warning"]
        for form in LooseIssuedAt.allCases {
            lines += ["  \(form.rawValue)", "      \(Citation.tokenConnection.rawValue)"]
        }
        return lines.joined(separator: "\n")
    }

    /// `{"rules": [{"request", "condition", "status", "reason", "citation", "documented"?}],
    /// "warnings": [{"condition", "citation"}]}`
    package var json: String {
        let rules = rows.map { row -> JSONValue in
            var fields: JSONObject = [
                "request": .string(row.request), "condition": .string(row.rule.condition),
                "status": .number(JSONNumber(row.rule.status)), "reason": .string(row.rule.reason),
                "citation": .string(row.rule.citation.rawValue),
            ]
            fields["documented"] = row.rule.documented.map {
                ["status": .number(JSONNumber($0.status)), "reason": .string($0.reason)]
            }
            return .object(fields)
        }
        let warnings = LooseIssuedAt.allCases.map { form -> JSONValue in
            ["condition": .string(form.rawValue), "citation": .string(Citation.tokenConnection.rawValue)]
        }
        return JSONValue.object(["rules": .array(rules), "warnings": .array(warnings)]).text
    }
}
