import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link2 } from 'lucide-react'
import { useState } from 'react'
import { toFailure } from '../api/client/failure.ts'
import { listState } from '../api/client/list-state.ts'
import { type SocialAccount, socialQuery, unlink } from '../api/social.ts'
import { SocialList } from '../features/social/social-list.tsx'
import { SHELL_TEXT } from '../messages/shell.ts'
import { SOCIAL_TEXT as TEXT } from '../messages/social.ts'
import { Button } from '../ui/button.tsx'
import { lazyPart } from '../ui/feedback/lazy-part.tsx'
import { Empty } from '../ui/feedback/states.tsx'
import { toast } from '../ui/feedback/toast.ts'
import { Page } from '../ui/layout/page.tsx'

const LinkDialog = lazyPart(() => import('../features/social/link-dialog.tsx').then(({ LinkDialog }) => LinkDialog))
const UnlinkDialog = lazyPart(() =>
  import('../features/social/unlink-dialog.tsx').then(({ UnlinkDialog }) => UnlinkDialog),
)

type Open =
  | { readonly kind: 'link'; readonly account: SocialAccount | null }
  | { readonly kind: 'unlink'; readonly account: SocialAccount }

/** The social accounts of all keys. */
export function Social() {
  const query = useQuery(socialQuery)
  const [open, setOpen] = useState<Open | null>(null)
  const queries = useQueryClient()
  // A pending link is canceled without confirmation, because nothing is lost.
  const cancelling = useMutation({
    mutationFn: (keyId: string) => unlink(keyId),
    onError: (error) => void toast(toFailure(error).message, { bad: true }),
    onSettled: () => queries.invalidateQueries({ queryKey: socialQuery.queryKey }),
  })
  const { data } = query
  const close = () => setOpen(null)
  return (
    <Page
      title={SHELL_TEXT.pagesOf.social}
      lead={<Lead sandbox={data?.network === 'sandbox'} />}
      actions={
        <Button
          tone="primary"
          disabled={!data || data.accounts.length === 0}
          onClick={() => setOpen({ kind: 'link', account: null })}
        >
          <Link2 size={16} aria-hidden />
          {TEXT.link}
        </Button>
      }
    >
      {data?.network === null ? (
        <section className="rounded-xl border border-line bg-surface pt-4">
          <Empty>{TEXT.noNetwork}</Empty>
        </section>
      ) : (
        <SocialList
          state={{
            rows: data?.accounts,
            ...listState(query),
          }}
          scopes={data?.scopes ?? []}
          actions={{
            link: (account) => setOpen({ kind: 'link', account }),
            unlink: (account) =>
              account.account === null ? cancelling.mutate(account.key.id) : setOpen({ kind: 'unlink', account }),
          }}
        />
      )}
      {open?.kind === 'link' && data && <LinkDialog social={data} chosen={open.account} onClose={close} />}
      {open?.kind === 'unlink' && <UnlinkDialog account={open.account} onClose={close} />}
    </Page>
  )
}

function Lead({ sandbox }: { sandbox: boolean }) {
  return (
    <p>
      {TEXT.lead}{' '}
      {sandbox && (
        <>
          {TEXT.sandbox}{' '}
          <a href="/sandbox/social" target="_blank" rel="noopener" className="text-accent underline">
            {TEXT.timeline}
          </a>
        </>
      )}
    </p>
  )
}
