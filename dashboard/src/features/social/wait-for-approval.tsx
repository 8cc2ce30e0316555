import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { ExternalLink } from 'lucide-react'
import { useEffect } from 'react'
import { failureFrom } from '../../api/client/failure.ts'
import { keySocialQuery, SOCIAL, type SocialAccount, type StartedLink, unlink } from '../../api/social.ts'
import { SOCIAL_TEXT as TEXT } from '../../messages/social.ts'
import { useCountdown } from '../../ui/browser/use-countdown.ts'
import { Button, buttonClass } from '../../ui/button.tsx'
import { CopyButton } from '../../ui/code/copy-button.tsx'
import { Dialog, DialogButtons } from '../../ui/dialogs/dialog.tsx'
import { FormFailure } from '../../ui/feedback/failure.tsx'

/** Waits for the decision in the other tab. The list of accounts, refreshed by events, shows the outcome. */
export function WaitForApproval({ started: { keyId, link }, onAgain, onClose }: WaitProps) {
  const account = useQuery(keySocialQuery(keyId)).data ?? undefined
  const end = endOf(account, link)
  if (end === 'linked' && account) return <LinkedDialog account={account} onClose={onClose} />
  if (end !== null && end !== 'linked') return <Ended end={end} onAgain={onAgain} onClose={onClose} />
  return <Waiting keyId={keyId} link={link} onClose={onClose} />
}

type WaitProps = {
  started: { keyId: string; link: StartedLink }
  onAgain: () => void
  onClose: () => void
}

type End = 'linked' | keyof typeof TEXT.ends

/** The lifetime of a link (spec 3), to calculate when it was created. */
const LINK_LIFETIME_MS = 10 * 60 * 1000

/** Null while the link is pending. The list may be older than the link and show an account that was linked before it. */
function endOf(account: SocialAccount | undefined, started: StartedLink): End | null {
  if (!account) return null
  const { link, state, linked_at: linkedAt } = account
  const began = Date.parse(started.expires_at) - LINK_LIFETIME_MS
  if (state === 'linked' && linkedAt !== null && Date.parse(linkedAt) >= began) return 'linked'
  return link?.id === started.link_id && link.state !== 'waiting' ? link.state : null
}

function Waiting({ keyId, link, onClose }: { keyId: string; link: StartedLink; onClose: () => void }) {
  const { left, start } = useCountdown()
  const queries = useQueryClient()
  const refresh = () => queries.invalidateQueries({ queryKey: SOCIAL })
  const expiresAt = Date.parse(link.expires_at)
  useEffect(() => start(Math.max(1, Math.ceil((expiresAt - Date.now()) / 1000))), [expiresAt])
  // No event announces that a link expired, so the list is fetched again at that time.
  useEffect(() => {
    const timer = setTimeout(
      () => void queries.invalidateQueries({ queryKey: SOCIAL }),
      Math.max(0, expiresAt - Date.now()) + 1000,
    )
    return () => clearTimeout(timer)
  }, [expiresAt, queries])
  const cancelling = useMutation({
    mutationFn: () => unlink(keyId),
    onSuccess: async () => {
      await refresh()
      onClose()
    },
  })
  return (
    <Dialog title={TEXT.waitingTitle} onClose={onClose} firm>
      <p>{TEXT.waitingText}</p>
      <p className="text-[1.125rem] font-semibold" role="timer">
        {TEXT.left(`${Math.floor(left / 60)}:${String(left % 60).padStart(2, '0')}`)}
      </p>
      <div className="flex flex-wrap items-center gap-2">
        <a className={buttonClass('primary')} href={link.auth_url} target="_blank" rel="noopener noreferrer">
          <ExternalLink size={16} aria-hidden />
          {TEXT.open}
        </a>
        <CopyButton label={TEXT.copyLink} text={link.auth_url} />
      </div>
      <p className="small text-muted">{TEXT.copyHint}</p>
      <FormFailure failure={failureFrom(cancelling)} />
      <DialogButtons>
        <Button onClick={onClose}>{TEXT.keepWaiting}</Button>
        <Button busy={cancelling.isPending} onClick={() => cancelling.mutate()}>
          {TEXT.stopWaiting}
        </Button>
      </DialogButtons>
    </Dialog>
  )
}

function LinkedDialog({ account, onClose }: { account: SocialAccount; onClose: () => void }) {
  const who = account.account
  return (
    <Dialog title={TEXT.linkedTitle(who?.username ?? '')} onClose={onClose}>
      <p role="status">{TEXT.linkedText(who?.name ?? '', account.key.name)}</p>
      <p className="text-muted">{TEXT.wrongAccount}</p>
      <DialogButtons>
        <Button tone="primary" onClick={onClose}>
          {TEXT.done}
        </Button>
      </DialogButtons>
    </Dialog>
  )
}

function Ended({ end, onAgain, onClose }: { end: keyof typeof TEXT.ends; onAgain: () => void; onClose: () => void }) {
  return (
    <Dialog title={TEXT.linkTitle} onClose={onClose}>
      <p role="status">{TEXT.ends[end]}</p>
      <DialogButtons>
        <Button onClick={onClose}>{TEXT.cancel}</Button>
        <Button tone="primary" onClick={onAgain}>
          {end === 'expired' ? TEXT.statusAction.expired : TEXT.statusAction.refused}
        </Button>
      </DialogButtons>
    </Dialog>
  )
}
