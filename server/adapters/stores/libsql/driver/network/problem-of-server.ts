import { reasonOf } from '../../../../../core/result'
import { type DatabaseAddress, serverClient } from './server-client'

/** Asks a database server over a new connection. Null if it answers within `maxMs`; else why it does not. Never rejects. */
export async function problemOfServer(address: DatabaseAddress, maxMs: number): Promise<string | null> {
  const client = serverClient(address, { deadlineMs: maxMs, isNewConnection: true })
  try {
    await client.execute('SELECT 1')
    return null
  } catch (error) {
    return reasonOf(error)
  } finally {
    client.close()
  }
}
