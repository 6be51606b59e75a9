import APITypes

/// Pages that say what went wrong and what to do.
enum ErrorPage {
    /// Outside the frame, for visitors that may not be signed in.
    static func alone(status: Int, _ text: String, refreshAfter seconds: Int? = nil) -> ConsoleAnswer {
        .page(
            Layout.document(
                title: "Error \(status)",
                refreshAfter: seconds,
                """
                <main id="main" class="alone"><h1>\(heading(status))</h1><p>\(text)</p>
                <p><a href="/console">To the console</a></p></main>
                """
            ),
            status: status
        )
    }

    /// The database is away. The browser tries again by itself.
    static func away(_ problem: Problem, _ request: ConsoleRequest) -> ConsoleAnswer {
        let seconds = max(2, min(30, problem.retryAfter ?? 3))
        // A form is not sent again by itself.
        let isSafe = request.method == "GET"
        let text =
            isSafe ? " This page tries again every \(seconds) seconds." : " Go back and send the form again later."
        var answer = alone(
            status: problem.status,
            problem.detail + text,
            refreshAfter: isSafe ? seconds : nil
        )
        answer.add("Retry-After", String(seconds))
        return answer
    }

    static func within(_ visit: Visit, status: Int, _ text: String) async -> ConsoleAnswer {
        await layout(visit, status).page(
            "<h1>\(heading(status))</h1><p class=\"lead\">\(text)</p>",
            status: status
        )
    }

    static func of(_ problem: Problem, _ visit: Visit) async -> ConsoleAnswer {
        if problem.status == 503 { return away(problem, visit.request) }
        return await layout(visit, problem.status).page(
            "<h1>\(heading(problem.status))</h1>\(Parts.problem(problem))",
            status: problem.status
        )
    }

    /// The frame of the page that failed, so that its links keep the app.
    private static func layout(_ visit: Visit, _ status: Int) async -> Layout {
        let place = Layout.Place.of(visit.request.path)
        // The app may be what failed. The links then name none.
        let choice = try? await visit.choice(place)
        return Layout(visit: visit, title: heading(status), place: place, choice: choice)
    }

    private static func heading(_ status: Int) -> String {
        switch status {
        case 200: "Tally"
        case 401: "Signed out"
        case 403: "Not allowed"
        case 404: "Not found"
        case 503: "The database is away"
        default: "That did not work"
        }
    }
}
