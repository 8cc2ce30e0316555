import { createClient } from '@libsql/client'
import { reasonOf } from '../../../../../core/result'
import { boundedFetch } from './bounded-fetch'

/** The address of a database server. */
export interface DatabaseAddress {
  readonly url: string
  readonly authToken: string | null
}

/** Asks a database server over a new connection. Null if it answers within `maxMs`; else why it does not. Never rejects. */
export async function problemOfServer({ url, authToken }: DatabaseAddress, maxMs: number): Promise<string | null> {
  const fetch = boundedFetch({ deadlineMs: maxMs, isNewConnection: true })
  const client = createClient({ url, ...(authToken && { authToken }), fetch })
  try {
    await client.execute('SELECT 1')
    return null
  } catch (error) {
    return reasonOf(error)
  } finally {
    client.close()
  }
}
