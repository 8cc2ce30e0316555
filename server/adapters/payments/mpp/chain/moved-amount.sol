// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

interface Token {
    function balanceOf(address account) external view returns (uint256);
}

/// Never deployed: an `eth_call` runs its constructor, which calls the token and answers by how much the recipient's balance grew. A
/// call that the token refuses is refused with the token's own reason.
contract MovedAmount {
    constructor(address token, address recipient, bytes memory transfer) {
        uint256 had = Token(token).balanceOf(recipient);
        (bool done, bytes memory told) = token.call(transfer);
        if (!done) {
            assembly {
                revert(add(told, 32), mload(told))
            }
        }
        uint256 has = Token(token).balanceOf(recipient);
        assembly {
            mstore(0, sub(has, had))
            return(0, 32)
        }
    }
}
