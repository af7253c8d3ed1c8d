package import HTTPRules
package import TransferModel

extension AttemptLife {
    private var openUpload: ResumableUpload? { builder.openUpload }

    // MARK: Before a request

    /// Makes the first request a resumable upload, or a question about one that was cut. Call before anything is sent.
    package func begin(_ upload: ResumableUpload) {
        builder.upload = .open(upload)
        // Which server named the place in an earlier attempt is not known any more.
        if let place = upload.point?.place { noteUploadPlace(place, from: .unknown) }
        if upload.isAtPlace {
            request = builder.request(for: upload, after: request)
        } else {
            builder.addUpload(to: &request)
        }
    }

    private func noteUploadPlace(_ place: String, from source: AnswerSource) {
        guard let url = try? ResourceURL.parse(place) else { return }
        builder.ledFromPublic.place = leads(to: url, from: source)
    }

    // MARK: What happens

    /// The body was handed to the transport up to the offset.
    package func noteSent(_ offset: Int64) {
        guard case .open(var upload) = builder.upload else { return }
        upload.noteSent(offset)
        builder.upload = .open(upload)
    }

    /// A 104 response came. Returns `false` if the request is to end; then `ended` says what follows.
    package func interim(
        _ headers: HeaderBlock, at now: WallTime, from source: @autoclosure () -> AnswerSource = .unknown
    ) -> Bool {
        guard case .open(var upload) = builder.upload else { return true }
        let known = upload.point?.place
        let step = upload.interim(headers, from: request.url, at: now)
        builder.upload = .open(upload)
        if let place = upload.point?.place, place != known { noteUploadPlace(place, from: source()) }
        guard let step else { return true }
        state.replaceMeaning(.upload(step))
        return false
    }

    /// A challenge was answered: the same request follows.
    func beginUploadAgain() {
        guard case .open(var upload) = builder.upload else { return }
        upload.begin()
        builder.upload = .open(upload)
    }

    /// Returns what a response means for the upload, or `nil` if it is judged like any other.
    func handleUploadAnswer(
        status: Int, _ headers: HeaderBlock, from source: () -> AnswerSource
    ) -> HeadVerdict? {
        guard case .open(var upload) = builder.upload else { return nil }
        // A redirect of the first request is followed with the upload still to begin.
        if !upload.isAtPlace, upload.point == nil, (300..<400).contains(status) { return nil }
        let known = upload.point?.place
        let step = upload.answered(status, headers, from: request.url)
        builder.upload = .open(upload)
        if let place = upload.point?.place, place != known { noteUploadPlace(place, from: source()) }
        guard let step else { return nil }
        return .discard(.upload(step))
    }

    func proceed(with step: ResumableUpload.Step) -> NextStep {
        if case .fail(let error) = step { return .fail(error, nil) }
        guard let upload = openUpload else { preconditionFailure("no upload goes on with \(step)") }
        if let why = upload.startedOver { resumption.noteStartedOver(why) }
        request = builder.request(for: upload, after: request)
        if let barred = builder.barredSecret(in: request) { return .fail(barred, nil) }
        return .send(request, nil)
    }

    /// Returns the error with what is known of the upload, unless that is what went wrong, and with the reason why a
    /// challenge was not answered.
    package func explained(_ error: TransferError) -> TransferError {
        var error = error
        if openUpload?.lacksAnswer == true {
            error.message += "; the server has all of the upload, only its answer to that was lost"
        }
        if endIsUnproven, error.name == .checksumMismatch { error.message += "; nothing proved where the body ends" }
        if let obstacle = obstacle(of: error) { error.message += "; \(obstacle)" }
        return error
    }

    // MARK: For the next attempt

    /// The point from which the next attempt can resume the upload; `nil` for none.
    package var uploadPoint: UploadPoint? { openUpload?.point }
    /// Protocol of resumable uploads that the server speaks; `nil` as long as it is unknown.
    package var uploadDialect: UploadDialect? { openUpload.flatMap { $0.point == nil ? nil : $0.dialect } }
    /// Whether the upload can be resumed if the server can.
    package var knowsUploads: Bool { openUpload != nil }
    /// Whether the present request asks about an upload that was begun, or continues it.
    package var isAtUploadPlace: Bool { openUpload?.isAtPlace ?? false }
    /// Offset in the body from which the present upload goes on; 0 from its beginning.
    package var uploadResumedFrom: Int64 { openUpload?.resumedFrom ?? 0 }

    /// Whether a POST was answered with a redirect to another request: whatever comes of that, it must not be sent
    /// again.
    package var tookEffect: Bool { builder.hasTakenEffect && openUpload?.point == nil }

    /// Whether another attempt is safe: it repeats an idempotent request, or sends only what is missing.
    package var mayBeRepeated: Bool {
        guard let upload = openUpload, upload.isAtPlace || upload.point != nil else {
            return HTTPMethod.isIdempotent(request.method) && !tookEffect
        }
        return upload.point != nil || HTTPMethod.isIdempotent(rules.method)
    }
}
