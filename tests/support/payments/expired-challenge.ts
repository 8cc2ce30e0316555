import { Challenge } from 'mppx'

/** A challenge as we would have signed it, whose time is over. */
export function expiredChallenge(header: string, secretKey: string): string {
  const { id: _, ...terms } = Challenge.deserialize(header)
  return Challenge.serialize(
    Challenge.from({ ...terms, expires: new Date(Date.now() - 1000).toISOString(), secretKey }),
  )
}
