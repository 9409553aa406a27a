def scaled_dot_product_attention(q, k, v, is_causal=False, enable_gqa=False):
    assert k.shape == v.shape and q.shape[0] == k.shape[0] and q.shape[3] == k.shape[3] and q.shape[1] % k.shape[1] == 0
    assert enable_gqa or q.shape[1] == k.shape[1]
    return q
