//! Which file systems the kernel cannot see all changes of.

use std::fs::File;

/// Whether the kernel sees everybody who writes to a file. What comes over a network it does not.
pub(super) fn is_local(file: &File) -> bool {
    const REMOTE: [u32; 8] = [
        0x6969,      // NFS
        0x517b,      // SMB
        0xff53_4d42, // CIFS
        0xfe53_4d42, // SMB 2
        0x6573_5546, // FUSE
        0x0102_1997, // 9P
        0x00c3_6400, // Ceph
        0x7461_636f, // OCFS2
    ];
    rustix::fs::fstatfs(file).is_ok_and(|system| {
        let kind = u32::try_from(i128::from(system.f_type) & 0xffff_ffff).unwrap_or_default();
        !REMOTE.contains(&kind)
    })
}
