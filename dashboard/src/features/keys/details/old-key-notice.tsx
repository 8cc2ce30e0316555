import { type ApiKey, isReplaced } from '../../../api/keys.ts'
import { KEY_TEXT as TEXT } from '../../../messages/keys.ts'
import { TimeAgo, useNow } from '../../../ui/format/time.tsx'

const HOUR_MS = 3_600_000

/** For a key that was replaced: whether it is still in use, so that its owner knows when to stop it. */
export function OldKeyNotice({ apiKey }: { apiKey: ApiKey }) {
  const now = useNow()
  if (!isReplaced(apiKey)) return null
  const used = apiKey.last_used_at
  const isQuiet = used === null || now - Date.parse(used) > HOUR_MS
  return (
    <p className={isQuiet ? 'rounded-xl bg-ok-soft px-4 py-3 text-ok' : 'rounded-xl bg-warn-soft px-4 py-3 text-warn'}>
      {isQuiet ? (
        TEXT.oldQuiet
      ) : (
        <>
          {TEXT.oldUsed} <TimeAgo at={used} />
        </>
      )}
    </p>
  )
}
