/**
 * A GET that this server makes for one of its callers: one part of a batch. It has the headers of the outer request, and comes from the
 * same address.
 */
export class InnerGet extends Request {
  readonly outer: Request

  constructor(url: URL, outer: Request) {
    const headers = new Headers(outer.headers)
    // The parts are not compressed one by one, and each is whole.
    for (const name of ['accept-encoding', 'if-none-match', 'range']) headers.delete(name)
    super(url, { headers, signal: outer.signal })
    this.outer = outer
  }
}
