/**
 * Calls under way, so that a cancel, which comes as a request of its own, finds the call it means: by who called and the id that
 * they gave the request. Two clients of one key may use the same id at once; then nobody can tell which is meant, and none is
 * cancelled.
 */
export class RunningCalls {
  private readonly calls = new Map<string | symbol, Set<AbortController>>()

  /** A signal that aborts when the call is cancelled, or when `hangUp` does. `end` must be called once. Nobody's call is found by none. */
  begin(
    caller: string | null,
    id: string | number,
    hangUp: AbortSignal,
  ): { readonly signal: AbortSignal; end(): void } {
    const name = caller === null ? Symbol('nobody') : nameOf(caller, id)
    const abort = new AbortController()
    const hungUp = () => abort.abort()
    hangUp.addEventListener('abort', hungUp, { once: true })
    if (hangUp.aborted) abort.abort()
    const same = this.calls.get(name) ?? new Set()
    this.calls.set(name, same.add(abort))
    return {
      signal: abort.signal,
      end: () => {
        hangUp.removeEventListener('abort', hungUp)
        same.delete(abort)
        if (same.size === 0) this.calls.delete(name)
      },
    }
  }

  /** Whether a call was found and told to stop. */
  cancel(caller: string, id: string | number): boolean {
    const [only, ...others] = this.calls.get(nameOf(caller, id)) ?? []
    if (!only || others.length > 0) return false
    only.abort()
    return true
  }

  get count(): number {
    return this.calls.size
  }
}

/** `1` and `"1"` are two ids in JSON-RPC. */
function nameOf(caller: string, id: string | number): string {
  return `${caller} ${typeof id} ${id}`
}
