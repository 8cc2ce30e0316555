import { type ComponentType, type ReactNode, useEffect } from 'react'
import { UI_TEXT } from '../../messages/ui.ts'
import { Signal, useSignal } from '../../signal.ts'
import { Button } from '../button.tsx'

type State<P> = { readonly component: ComponentType<P> } | { readonly failed: boolean }

/** A component whose code is loaded on first use. `preload` never rejects. */
export interface LazyPart<P> {
  (props: P): ReactNode
  readonly preload: () => Promise<void>
}

interface LazyOptions<P> {
  /** Shown until it is loaded. */
  readonly fallback?: ComponentType<P>
  /** Shown besides if it could not be loaded. */
  readonly failure?: ComponentType<{ readonly onRetry: () => void }>
}

/** Every lazy part of the modules that were loaded so far, to be loaded while the page is idle. */
const parts = new Set<() => Promise<void>>()

/**
 * Makes a component whose code is loaded on first use. If it cannot be loaded, because the gateway is away, the rest of the page stays
 * and says so with a retry. React's own `lazy` keeps a failure forever, and takes the whole page down with it.
 */
export function lazyPart<P extends object>(
  load: () => Promise<ComponentType<P>>,
  { fallback: Fallback, failure: Failure = PartFailed }: LazyOptions<P> = {},
): LazyPart<P> {
  const state = new Signal<State<P>>({ failed: false })
  let loading: Promise<void> | null = null
  const preload = () => {
    if (loading !== null) return loading
    if (!('component' in state.value)) state.set({ failed: false })
    loading = load().then(
      (component) => state.set({ component }),
      () => {
        loading = null
        state.set({ failed: true })
      },
    )
    return loading
  }
  parts.add(preload)
  const Part = (props: P) => {
    const now = useSignal(state)
    useEffect(() => void preload(), [])
    if ('component' in now) return <now.component {...props} />
    return (
      <>
        {Fallback && <Fallback {...props} />}
        {now.failed && <Failure onRetry={() => void preload()} />}
      </>
    )
  }
  return Object.assign(Part, { preload })
}

/** The connection as the browser reports it. Not every browser does. */
interface Connection {
  readonly saveData?: boolean
}

/**
 * Loads every lazy part, one after the other, also those that the loaded ones contain. None where the visitor told the browser to save data:
 * most parts belong to pages that this visit does not open.
 */
export async function preloadParts(connection: Connection = Reflect.get(navigator, 'connection') ?? {}): Promise<void> {
  if (connection.saveData) return
  for (const preload of parts) await preload()
}

/** Shown over the page, because the missing part may be a dialog or a menu, which has no place of its own. */
function PartFailed({ onRetry }: { onRetry: () => void }) {
  return (
    <div
      role="alert"
      className="fixed inset-x-4 bottom-4 z-50 mx-auto flex max-w-xl flex-wrap items-center justify-between gap-3 rounded-xl border border-bad bg-surface px-4 py-3"
    >
      {UI_TEXT.partFailed}
      <Button onClick={onRetry}>{UI_TEXT.tryAgain}</Button>
    </div>
  )
}
