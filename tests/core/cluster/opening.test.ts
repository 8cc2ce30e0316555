import { describe, expect, test } from 'bun:test'
import { AT_ONCE, LaterOpening } from '../../../server/core/cluster/opening'

const job = (said: string[], name: string) => () => {
  said.push(`${name} started`)
  return {
    run: async () => void said.push(`${name} ran`),
    close: async () => void said.push(`${name} closed`),
  }
}

describe('a gateway that is opened at once', () => {
  test('does everything where it is written', async () => {
    const said: string[] = []
    await AT_ONCE.own(async () => void said.push('owned'))
    await AT_ONCE.whenOwned(async () => void said.push('read'))
    AT_ONCE.job(job(said, 'job'))
    expect(said).toEqual(['owned', 'read', 'job started'])
  })
})

describe('a gateway that is prepared', () => {
  test('does nothing of it before it begins; then it owns first, and starts jobs last', async () => {
    const said: string[] = []
    const opening = new LaterOpening()
    const started = opening.job(job(said, 'job'))
    await opening.whenOwned(async () => {
      await Bun.sleep(0)
      said.push('read')
    })
    await opening.own(async () => {
      await Bun.sleep(0)
      said.push('owned')
    })
    await started.run()
    expect(said).toEqual([])
    await opening.begin()
    expect(said).toEqual(['owned', 'read', 'job started'])
    await started.run()
    await started.close()
    expect(said.slice(3)).toEqual(['job ran', 'job closed'])
  })

  test('starts no job that was closed before it began', async () => {
    const said: string[] = []
    const opening = new LaterOpening()
    await opening.job(job(said, 'job')).close()
    await opening.begin()
    expect(said).toEqual([])
  })

  test('takes no step and starts no job if it cannot own', async () => {
    const said: string[] = []
    const opening = new LaterOpening()
    opening.job(job(said, 'job'))
    await opening.whenOwned(async () => void said.push('read'))
    await opening.own(async () => {
      throw new Error('another node took the lease')
    })
    expect(await opening.begin().catch(String)).toBe('Error: another node took the lease')
    expect(said).toEqual([])
  })

  test('fails when all steps have ended, and starts no job', async () => {
    const said: string[] = []
    const opening = new LaterOpening()
    opening.job(job(said, 'job'))
    await opening.whenOwned(async () => {
      throw new Error('no answer')
    })
    await opening.whenOwned(async () => {
      await Bun.sleep(1)
      said.push('slow')
    })
    expect(await opening.begin().catch(String)).toBe('Error: no answer')
    expect(said).toEqual(['slow'])
  })
})
