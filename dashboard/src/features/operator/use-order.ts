import { useMutation, useQueryClient } from '@tanstack/react-query'
import { toast } from '../../ui/toast.ts'

/** An operator's change: says that it is done, renews what the page shows, and closes what asked for it. */
export function useOrder<T>(
  act: (typed: T) => Promise<unknown>,
  done: string | ((typed: T) => string),
  onDone: () => void,
) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: act,
    onSuccess: (_answer, typed) => {
      void toast(typeof done === 'string' ? done : done(typed))
      onDone()
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ['operator'] }),
  })
}
