import APITypes
import ActivityModel

/// The frame of every page: navigation, search, the choice of an app, and who is signed in.
struct Layout: Sendable {
    let visit: Visit
    let title: String
    /// The entry of the navigation that the page belongs to.
    let place: Place
    var choice: AppChoice?
    /// The address of server-sent events. Each one makes the browser renew the page's live parts.
    var live: Address?
    /// The seconds after which the browser renews the live parts anyway.
    var every: Int?

    /// The entries of the navigation, in order.
    enum Place: String, CaseIterable {
        case now = "Now"
        case activities = "Activities"
        case phones = "Phones"
        case channels = "Channels"
        case types = "Types"
        case schedules = "Schedules"
        case events = "Events"
        case halts = "Halts"
        case apiKeys = "API keys"
        case audit = "Audit"
        case doctor = "Doctor"

        /// The entry that the page at this path belongs to.
        static func of(_ path: String) -> Place {
            switch path.split(separator: "/").dropFirst().first {
            case "activities", "activity": .activities
            case "phones", "phone": .phones
            case "channels", "channel": .channels
            case "types", "type": .types
            case "schedules", "schedule": .schedules
            case "events": .events
            case "halts", "halt": .halts
            case "api-keys": .apiKeys
            case "audit": .audit
            case "doctor": .doctor
            default: .now
            }
        }

        func address(_ app: String?) -> Address {
            switch self {
            case .now: Address("/console", ["app": app])
            case .activities: Address("/console/activities", ["app": app])
            case .phones: Address("/console/phones", ["app": app])
            case .channels: Address("/console/channels", ["app": app])
            case .types: Address("/console/types", ["app": app])
            case .schedules: Address("/console/schedules", ["app": app])
            case .events: Address("/console/events", ["app": app])
            case .halts: Address("/console/halts", ["app": app])
            case .apiKeys: Address("/console/api-keys", ["app": app])
            case .audit: Address("/console/audit", ["app": app])
            case .doctor: Address("/console/doctor", ["app": app])
            }
        }

        /// The scope without which the page shows nothing.
        var needs: Scope {
            switch self {
            case .apiKeys: .admin
            case .audit, .doctor: .operate
            case .now, .activities, .phones, .channels, .types, .schedules, .events, .halts: .read
            }
        }

        /// The key that follows `g`.
        var shortcut: String {
            switch self {
            case .now: "n"
            case .activities: "a"
            case .phones: "p"
            case .channels: "c"
            case .types: "t"
            case .schedules: "s"
            case .events: "e"
            case .halts: "h"
            case .apiKeys: "k"
            case .audit: "l"
            case .doctor: "d"
            }
        }
    }

    func page(_ content: HTML, status: Int = 200) -> ConsoleAnswer {
        visit.isRenewal ? .page("<main>\(content)</main>", status: status) : .page(html(content), status: status)
    }

    private func html(_ content: HTML) -> HTML {
        Self.document(
            title: title,
            """
            <a class="skip" href="#main">Skip to the content</a>
            <header class="top">
            <a class="brand" href="\(Place.now.address(choice?.id))">\(Drawing.mark)<span>Tally</span></a>
            \(switcher)
            <form class="find" action="/console/find" role="search">
            \(choice.map { "<input type=\"hidden\" name=\"app\" value=\"\($0.id)\">" as HTML })
            <label class="hidden" for="find">Search</label>
            <input id="find" name="q" type="search" placeholder="Activity, phone or user" \
            autocomplete="off" spellcheck="false" aria-keyshortcuts="/"><kbd aria-hidden="true">/</kbd>
            </form>
            \(person)
            </header>
            <div class="frame">
            <nav class="pages" aria-label="Pages"><ul>\(entries)</ul></nav>
            <main id="main"\(live.map { " data-live=\"\($0)\"" as HTML })\(every.map { " data-every=\"\($0)\"" as HTML })\(sent)>
            \(content)
            </main>
            </div>
            \(help)
            """
        )
    }

    /// A page without the frame.
    static func document(title: String, refreshAfter seconds: Int? = nil, _ body: HTML) -> HTML {
        """
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <title>\(title) – Tally</title>
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        \(seconds.map { "<meta http-equiv=\"refresh\" content=\"\($0)\">" as HTML })
        <link rel="icon" href="\(Asset.icon.address)" type="image/svg+xml">
        <link rel="stylesheet" href="\(Asset.style.address)">
        <script src="\(Asset.script.address)" defer></script>
        </head>
        <body>
        \(body)
        </body>
        </html>

        """
    }

    /// Tells the script that a form led here.
    private var sent: HTML { visit.request.method == "POST" ? " data-sent" : "" }

    private var entries: HTML {
        Place.allCases.filter { visit.allows($0.needs) }.html { entry in
            let current: HTML = entry == place ? " aria-current=\"page\"" : ""
            return """
                <li><a href="\(entry.address(choice?.id))" data-go="\(entry.shortcut)"\(current)>\(entry.rawValue)</a></li>
                """
        }
    }

    private var switcher: HTML {
        guard let choice else { return "" }
        if choice.all.count < 2 { return "<span class=\"app\">\(choice.id)</span>" }
        let links = choice.all.html { app in
            "<li><a href=\"\(place.address(app.bundleID.rawValue))\">\(app.bundleID.rawValue)</a></li>"
        }
        return "<details class=\"app\"><summary>\(choice.id)</summary><ul>\(links)</ul></details>"
    }

    private var person: HTML {
        let scopes = Scope.allCases.filter { visit.owner.scopes.contains($0) }.map(\.rawValue).joined(separator: ", ")
        let name = visit.owner.keyID == "bootstrap" ? "bootstrap" : String(visit.owner.keyID.prefix(8))
        return """
            <div class="person"><span title="API key \(visit.owner.keyID)">\(name) <span class="scope">\(scopes)</span></span>
            <form method="post" action="/console/sign-out">\(visit.formToken.html)<button class="quiet">Sign out</button></form>
            </div>
            """
    }

    private var help: HTML {
        let rows = Place.allCases.filter { visit.allows($0.needs) }.html { entry in
            "<tr><td><kbd>g</kbd> <kbd>\(entry.shortcut)</kbd></td><td>\(entry.rawValue)</td></tr>"
        }
        return """
            <dialog id="help" aria-labelledby="help-title"><h2 id="help-title">Keys</h2>
            <table><tbody><tr><td><kbd>/</kbd></td><td>Search</td></tr>\(rows)\
            <tr><td><kbd>?</kbd></td><td>This list</td></tr></tbody></table>
            <form method="dialog"><button>Close</button></form></dialog>
            """
    }
}
