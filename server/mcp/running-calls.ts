/**
 * Calls in progress, so that a cancel, which arrives as a separate request, can find its call by caller and request id. If two
 * clients of one key use the same id at once, the cancel is ambiguous and nothing is cancelled.
 */
export class RunningCalls {
  private readonly calls = new Map<string | symbol, Set<AbortController>>()

  /** Returns a signal that aborts when the call is cancelled or `hangUp` aborts. Call `end` once. Anonymous calls cannot be cancelled. */
  begin(
    caller: string | null,
    id: string | number,
    hangUp: AbortSignal,
  ): { readonly signal: AbortSignal; end(): void } {
    const name = caller === null ? Symbol('nobody') : callKey(caller, id)
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

  /** Cancels a call; returns whether it was found. */
  cancel(caller: string, id: string | number): boolean {
    const [only, ...others] = this.calls.get(callKey(caller, id)) ?? []
    if (!only || others.length > 0) return false
    only.abort()
    return true
  }

  get count(): number {
    return this.calls.size
  }
}

/** `1` and `"1"` are different ids in JSON-RPC. */
function callKey(caller: string, id: string | number): string {
  return `${caller} ${typeof id} ${id}`
}
