import { pathPattern } from './path-pattern'

/** The routes of the app, known once it is built, so that a wrong method can be told from an unknown path. */
export class ServedRoutes {
  private routes: readonly { readonly method: string; readonly pattern: RegExp }[] = []

  remember(routes: readonly { readonly method: string; readonly path: string }[]): void {
    this.routes = routes
      .filter(({ path }) => !path.includes('*'))
      .map(({ method, path }) => ({ method, pattern: pathPattern(path) }))
  }

  /** The methods that this path takes; empty when there is no such path. */
  methodsAt(path: string): string[] {
    return [...new Set(this.routes.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method))]
  }
}
