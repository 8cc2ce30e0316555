import { type Client, createClient } from '@libsql/client'
import { boundedFetch } from './bounded-fetch'
import { KeptStream } from './kept-stream'
import { firstStepErrorOnly } from './step-errors'

/** The address of a database server. */
export interface DatabaseAddress {
  readonly url: string
  readonly authToken: string | null
}

interface ClientOptions {
  /** How long a request may take. */
  readonly deadlineMs: number
  /** Whether its stream stays open (`KeptStream`): not for what changes settings of its stream. */
  readonly isKept?: boolean
}

/** A client of a database server. Its requests have limits of time and size. */
export function serverClient(
  { url, authToken }: DatabaseAddress,
  { deadlineMs, isKept = false }: ClientOptions,
): Client {
  const send = firstStepErrorOnly(boundedFetch({ deadlineMs }))
  const fetch = isKept ? new KeptStream(send, () => performance.now()).fetch : send
  return createClient({ url, ...(authToken && { authToken }), fetch })
}
