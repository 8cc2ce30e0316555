/** The way back into the app, known once the app is built. */
export class InnerCalls {
  private way: ((request: Request) => Promise<Response>) | null = null

  goTo(way: (request: Request) => Promise<Response>): void {
    this.way = way
  }

  call(request: Request): Promise<Response> {
    if (!this.way) throw new Error('the app is not built yet')
    return this.way(request)
  }
}
