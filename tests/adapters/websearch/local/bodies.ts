import { expect } from 'bun:test'
import type { Provider } from '../../../../server/core/providers/provider'
import { SOMEBODY } from '../../../support/somebody'

interface Source {
  readonly age: unknown
  readonly thumbnail?: unknown
  readonly fetched_content_timestamp?: unknown
}

interface PlaceBody {
  readonly name: string
  readonly url: string
  readonly title: string
  readonly snippets: readonly string[]
}

/** An LLM context body, as far as tests look at it. */
export interface ContextBody {
  readonly query: unknown
  readonly grounding: {
    readonly generic: readonly { readonly url: string; readonly title: string; readonly snippets: readonly string[] }[]
    readonly poi: PlaceBody | null
    readonly map: readonly PlaceBody[]
  }
  readonly sources: Readonly<Record<string, Source>>
}

/** An image search body, as far as tests look at it. */
export interface ImageBody {
  readonly type: string
  readonly query: { readonly show_strict_warning: boolean }
  readonly results: readonly { readonly title: string; readonly thumbnail: unknown; readonly confidence: string }[]
  readonly extra: { readonly might_be_offensive: boolean }
}

/** The body of a success, parsed; anything else fails the test. */
export async function bodyOf<B>(provider: Provider<never>, input: unknown): Promise<B> {
  const answer = await provider.call(input as never, new AbortController().signal, SOMEBODY)
  if (!answer.ok) throw new Error(`no success: ${answer.error.kind} ${answer.error.reason}`)
  expect(typeof answer.value.body).toBe('string')
  return JSON.parse(String(answer.value.body)) as B
}
